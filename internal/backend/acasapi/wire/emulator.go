package wire

// EmulatorState is what an emulator calls a state file that it cannot use, or cannot
// open what is sealed in. The service never says it, and asking again is no help.
const EmulatorState = "EmulatorState"
