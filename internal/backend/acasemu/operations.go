package acasemu

import (
	"maps"

	"github.com/sandbox-iac/terraform-provider-sandbox/internal/backend/acasapi/wire"
)

// table has a handler for every operation of the contract.
func (e *Emulator) table() map[wire.Op]handler {
	all := e.groupTable()
	maps.Copy(all, e.sandboxTable())
	maps.Copy(all, e.holdingTable())
	return all
}

// groupTable is the ARM plane.
func (e *Emulator) groupTable() map[wire.Op]handler {
	return map[wire.Op]handler{
		wire.GroupGet:              e.groupGet,
		wire.GroupPut:              e.groupPut,
		wire.GroupPatch:            e.groupPatch,
		wire.GroupDelete:           e.groupDelete,
		wire.GroupList:             e.groupList,
		wire.GroupListSubscription: e.groupList,
		wire.VNetGet:               e.vnetGet,
		wire.VNetPut:               e.vnetPut,
		wire.VNetDelete:            e.vnetDelete,
		wire.VNetList:              e.vnetList,
		wire.OperationStatus:       e.operationStatus,
		wire.OperationResult:       e.operationResult,
	}
}

// sandboxTable is sandboxes and what belongs to one.
func (e *Emulator) sandboxTable() map[wire.Op]handler {
	return map[wire.Op]handler{
		wire.SandboxCreate:      e.sandboxCreate,
		wire.SandboxGet:         e.sandboxGet,
		wire.SandboxList:        e.sandboxList,
		wire.SandboxCount:       e.sandboxCount,
		wire.SandboxDelete:      e.sandboxDelete,
		wire.SandboxStop:        e.sandboxStop,
		wire.SandboxStopAsync:   e.sandboxStopAsync,
		wire.SandboxResume:      e.sandboxResume,
		wire.SandboxDisable:     e.sandboxDisable,
		wire.SandboxEnable:      e.sandboxEnable,
		wire.SandboxStats:       e.sandboxStats,
		wire.SandboxLifecycle:   e.sandboxLifecycle,
		wire.SandboxSnapshot:    e.sandboxSnapshot,
		wire.SandboxCommit:      e.sandboxCommit,
		wire.ExecShell:          e.execShell,
		wire.ExecCommand:        e.execCommand,
		wire.FileRead:           e.fileRead,
		wire.FileWrite:          e.fileWrite,
		wire.FileStat:           e.fileStat,
		wire.FileList:           e.fileList,
		wire.FileMkdir:          e.fileMkdir,
		wire.FileDelete:         e.fileDelete,
		wire.PortList:           e.portList,
		wire.PortAdd:            e.portAdd,
		wire.PortRemove:         e.portRemove,
		wire.PortReplace:        e.portReplace,
		wire.PortPatch:          e.portPatch,
		wire.EgressSet:          e.egressSet,
		wire.EgressDecisions:    e.egressDecisions,
		wire.EgressPolicyPut:    e.policyPut,
		wire.EgressPolicyGet:    e.policyGet,
		wire.EgressPolicyList:   e.policyList,
		wire.EgressPolicyDelete: e.policyDelete,
	}
}

// holdingTable is what else a group holds.
func (e *Emulator) holdingTable() map[wire.Op]handler {
	return map[wire.Op]handler{
		wire.ImageCreate:      e.imageCreate,
		wire.ImageGet:         e.imageGet,
		wire.ImageList:        e.imageList,
		wire.ImageDelete:      e.imageDelete,
		wire.ImagePublicList:  e.publicList,
		wire.ImagePublicGet:   e.publicGet,
		wire.SnapshotGet:      e.snapshotGet,
		wire.SnapshotList:     e.snapshotList,
		wire.SnapshotCount:    e.snapshotCount,
		wire.SnapshotDelete:   e.snapshotDelete,
		wire.VolumePut:        e.volumePut,
		wire.VolumeGet:        e.volumeGet,
		wire.VolumeList:       e.volumeList,
		wire.VolumeDelete:     e.volumeDelete,
		wire.VolumeCount:      e.volumeCount,
		wire.VolumeFork:       e.volumeFork,
		wire.VolumeAttach:     e.volumeAttach,
		wire.VolumeFileList:   e.volumeFileList,
		wire.VolumeFileRead:   e.volumeFileRead,
		wire.VolumeFileWrite:  e.volumeFileWrite,
		wire.VolumeFileMkdir:  e.volumeFileMkdir,
		wire.VolumeFileDelete: e.volumeFileDelete,
		wire.SecretPut:        e.secretPut,
		wire.SecretList:       e.secretList,
		wire.SecretKeys:       e.secretKeys,
		wire.SecretPeek:       e.secretPeek,
		wire.SecretDelete:     e.secretDelete,
		wire.ConnectionList:   e.connectionList,
		wire.ConnectionCreate: e.connectionCreate,
		wire.ConnectionDelete: e.connectionDelete,
		wire.ConnectionAttach: e.connectionAttach,
		wire.CredentialPut:    e.credentialPut,
		wire.CredentialGet:    e.credentialGet,
		wire.CredentialList:   e.credentialList,
		wire.CredentialDelete: e.credentialDelete,
		wire.PackageList:      e.packageList,
		wire.PackageUpload:    e.packageUpload,
		wire.PackageDownload:  e.packageDownload,
	}
}
