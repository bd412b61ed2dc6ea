// Package adopt writes configuration for objects that exist: each as a resource with
// the import block that takes it over, so that a plan imports everything and changes
// nothing.
//
// [Read] looks at a group and [FromGroup] writes it; [FromACA] writes what the state of
// the provider Azure/aca holds, and lets go of it there. Each gives an [Adoption]: the
// text, and in words what is in it, what is not, and what should be known of either.
//
// The rule that both keep: nothing is passed over in silence. An object that no
// resource can be written for stands in the file as a comment that says what it is and
// why, and in [Adoption.Left]. What the service does not give out, such as the values
// of secrets, is asked for by a variable and sent by no plan until somebody says so.
//
// It changes nothing and decides nothing. Names that others chose reach the text
// through package hcltext alone.
package adopt
