package wire

import "net/http"

// The operations.
const (
	_ Op = iota

	GroupGet
	GroupPut
	GroupPatch
	GroupDelete
	GroupList
	GroupListSubscription
	VNetGet
	VNetPut
	VNetDelete
	VNetList
	OperationStatus
	OperationResult

	SandboxCreate
	SandboxGet
	SandboxList
	SandboxCount
	SandboxDelete
	SandboxStop
	SandboxStopAsync
	SandboxResume
	SandboxDisable
	SandboxEnable
	SandboxStats
	SandboxLifecycle
	SandboxSnapshot
	SandboxCommit

	ExecShell
	ExecCommand

	FileRead
	FileWrite
	FileStat
	FileList
	FileMkdir
	FileDelete

	ImageCreate
	ImageGet
	ImageList
	ImageDelete
	ImagePublicList
	ImagePublicGet

	SnapshotGet
	SnapshotList
	SnapshotCount
	SnapshotDelete

	VolumePut
	VolumeGet
	VolumeList
	VolumeDelete
	VolumeCount
	VolumeFork
	VolumeAttach
	VolumeFileList
	VolumeFileRead
	VolumeFileWrite
	VolumeFileMkdir
	VolumeFileDelete

	SecretPut
	SecretList
	SecretKeys
	SecretPeek
	SecretDelete

	PortList
	PortAdd
	PortRemove
	PortReplace
	PortPatch

	EgressSet
	EgressDecisions
	EgressPolicyPut
	EgressPolicyGet
	EgressPolicyList
	EgressPolicyDelete

	ConnectionList
	ConnectionCreate
	ConnectionDelete
	ConnectionAttach
	CredentialPut
	CredentialGet
	CredentialList
	CredentialDelete
	PackageList
	PackageUpload
	PackageDownload
)

// operations has one row an [Op]. What the service offers and no client of this
// module needs is left out: the interactive streams of a guest (web sockets), and
// the consent dialogue of connections.
var operations = [...]Operation{
	GroupGet:              {Name: "group.get", Plane: ARM, Repeat: RepeatSafe, Forms: get(armGroup)},
	GroupPut:              {Name: "group.put", Plane: ARM, Repeat: RepeatSafe, Forms: put(armGroup)},
	GroupPatch:            {Name: "group.patch", Plane: ARM, Repeat: RepeatSafe, Forms: patch(armGroup)},
	GroupDelete:           {Name: "group.delete", Plane: ARM, Repeat: RepeatSafe, Forms: remove(armGroup)},
	GroupList:             {Name: "group.list", Plane: ARM, Repeat: RepeatSafe, Forms: get(armGroups)},
	GroupListSubscription: {Name: "group.list_subscription", Plane: ARM, Repeat: RepeatSafe, Forms: get("/subscriptions/{subscription}/providers/Microsoft.App/sandboxGroups")},
	VNetGet:               {Name: "vnet.get", Plane: ARM, Repeat: RepeatSafe, Forms: get(armVNets + "/{vnet}")},
	VNetPut:               {Name: "vnet.put", Plane: ARM, Repeat: RepeatSafe, Forms: put(armVNets + "/{vnet}")},
	VNetDelete:            {Name: "vnet.delete", Plane: ARM, Repeat: RepeatSafe, Forms: remove(armVNets + "/{vnet}")},
	VNetList:              {Name: "vnet.list", Plane: ARM, Repeat: RepeatSafe, Forms: get(armVNets)},
	OperationStatus:       {Name: "operation.status", Plane: ARM, Repeat: RepeatSafe, Forms: get(armPlace + "/operationStatuses/{operation}")},
	OperationResult:       {Name: "operation.result", Plane: ARM, Repeat: RepeatSafe, Forms: get(armPlace + "/operationResults/{operation}")},

	SandboxCreate:    {Name: "sandbox.create", Plane: Data, Secret: true, Forms: split(http.MethodPut, http.MethodPost, group+"/sandboxes")},
	SandboxGet:       {Name: "sandbox.get", Plane: Data, Repeat: RepeatSafe, Forms: get(sandboxG)},
	SandboxList:      {Name: "sandbox.list", Plane: Data, Repeat: RepeatSafe, Forms: get(group + "/sandboxes")},
	SandboxCount:     {Name: "sandbox.count", Plane: Data, Repeat: RepeatSafe, Forms: get(group + "/sandboxes/count")},
	SandboxDelete:    {Name: "sandbox.delete", Plane: Data, Repeat: RepeatSafe, Forms: remove(sandboxG)},
	SandboxStop:      {Name: "sandbox.stop", Plane: Data, Repeat: RepeatSafe, Forms: post(sandboxG + "/stop")},
	SandboxStopAsync: {Name: "sandbox.stop_async", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodPost, sandboxG+"/stop/async")},
	SandboxResume:    {Name: "sandbox.resume", Plane: Data, Repeat: RepeatSafe, Forms: post(sandboxG + "/resume")},
	SandboxDisable:   {Name: "sandbox.disable", Plane: Data, Repeat: RepeatSafe, Forms: post(sandboxG + "/disable")},
	SandboxEnable:    {Name: "sandbox.enable", Plane: Data, Repeat: RepeatSafe, Forms: post(sandboxG + "/enable")},
	SandboxStats:     {Name: "sandbox.stats", Plane: Data, Repeat: RepeatSafe, Forms: get(sandboxG + "/stats")},
	SandboxLifecycle: {Name: "sandbox.lifecycle", Plane: Data, Repeat: RepeatSafe, Forms: post(sandboxG + "/lifecycle")},
	SandboxSnapshot:  {Name: "sandbox.snapshot", Plane: Data, Forms: post(sandboxG + "/snapshot")},
	SandboxCommit:    {Name: "sandbox.commit", Plane: Data, Forms: post(sandboxG + "/commit")},

	ExecShell:   {Name: "exec.shell", Plane: Data, Secret: true, Forms: post(sandboxG + "/executeShellCommand")},
	ExecCommand: {Name: "exec.command", Plane: Data, Secret: true, Forms: post(sandboxG + "/executeCommand")},

	FileRead:   {Name: "file.read", Plane: Data, Repeat: RepeatSafe, Forms: get(sandboxG + "/files")},
	FileWrite:  {Name: "file.write", Plane: Data, Repeat: RepeatSafe, Forms: split(http.MethodPut, http.MethodPost, sandboxG+"/files")},
	FileStat:   {Name: "file.stat", Plane: Data, Repeat: RepeatSafe, Forms: get(sandboxG + "/files/stat")},
	FileList:   {Name: "file.list", Plane: Data, Repeat: RepeatSafe, Forms: get(sandboxG + "/files/list")},
	FileMkdir:  {Name: "file.mkdir", Plane: Data, Repeat: RepeatSafe, Forms: post(sandboxG + "/files/mkdir")},
	FileDelete: {Name: "file.delete", Plane: Data, Repeat: RepeatSafe, Forms: remove(sandboxG + "/files")},

	ImageCreate:     {Name: "image.create", Plane: Data, Secret: true, Forms: split(http.MethodPut, http.MethodPost, image)},
	ImageGet:        {Name: "image.get", Plane: Data, Repeat: RepeatSafe, Forms: get(image + "/{image}")},
	ImageList:       {Name: "image.list", Plane: Data, Repeat: RepeatSafe, Forms: get(image)},
	ImageDelete:     {Name: "image.delete", Plane: Data, Repeat: RepeatSafe, Forms: remove(image + "/{image}")},
	ImagePublicList: {Name: "image.public_list", Plane: Data, Repeat: RepeatSafe, Forms: get(image + "/public")},
	ImagePublicGet:  {Name: "image.public_get", Plane: Data, Repeat: RepeatSafe, Forms: get(image + "/public/{image}")},

	SnapshotGet:    {Name: "snapshot.get", Plane: Data, Repeat: RepeatSafe, Forms: get(snapshot + "/{snapshot}")},
	SnapshotList:   {Name: "snapshot.list", Plane: Data, Repeat: RepeatSafe, Forms: get(snapshot)},
	SnapshotCount:  {Name: "snapshot.count", Plane: Data, Repeat: RepeatSafe, Forms: get(snapshot + "/count")},
	SnapshotDelete: {Name: "snapshot.delete", Plane: Data, Repeat: RepeatSafe, Forms: remove(snapshot + "/{snapshot}")},

	VolumePut:        {Name: "volume.put", Plane: Data, Repeat: RepeatSafe, Forms: put(volume)},
	VolumeGet:        {Name: "volume.get", Plane: Data, Repeat: RepeatSafe, Forms: get(volume)},
	VolumeList:       {Name: "volume.list", Plane: Data, Repeat: RepeatSafe, Forms: get(group + "/volumes")},
	VolumeDelete:     {Name: "volume.delete", Plane: Data, Repeat: RepeatSafe, Forms: remove(volume)},
	VolumeCount:      {Name: "volume.count", Plane: Data, Repeat: RepeatSafe, Forms: get(group + "/volumes/count")},
	VolumeFork:       {Name: "volume.fork", Plane: Data, Forms: post(volume + "/fork")},
	VolumeAttach:     {Name: "volume.attach", Plane: Data, Forms: post(sandboxG + "/volumes/add")},
	VolumeFileList:   {Name: "volume_file.list", Plane: Data, Repeat: RepeatSafe, Forms: get(volume + "/files")},
	VolumeFileRead:   {Name: "volume_file.read", Plane: Data, Repeat: RepeatSafe, Forms: get(volume + "/files/download")},
	VolumeFileWrite:  {Name: "volume_file.write", Plane: Data, Forms: post(volume + "/files")},
	VolumeFileMkdir:  {Name: "volume_file.mkdir", Plane: Data, Repeat: RepeatSafe, Forms: post(volume + "/files/mkdir")},
	VolumeFileDelete: {Name: "volume_file.delete", Plane: Data, Repeat: RepeatSafe, Forms: remove(volume + "/files")},

	SecretPut:    {Name: "secret.put", Plane: Data, Repeat: RepeatSafe, Secret: true, Forms: put(secret)},
	SecretList:   {Name: "secret.list", Plane: Data, Repeat: RepeatSafe, Forms: get(group + "/secrets")},
	SecretKeys:   {Name: "secret.keys", Plane: Data, Repeat: RepeatSafe, Forms: get(secret + "/keys")},
	SecretPeek:   {Name: "secret.peek", Plane: Data, Repeat: RepeatSafe, Secret: true, Forms: post(secret + "/peek")},
	SecretDelete: {Name: "secret.delete", Plane: Data, Repeat: RepeatSafe, Forms: remove(secret)},

	PortList:    {Name: "port.list", Plane: Data, Repeat: RepeatSafe, Forms: get(sandboxG + "/ports")},
	PortAdd:     {Name: "port.add", Plane: Data, Forms: post(sandboxG + "/ports/add")},
	PortRemove:  {Name: "port.remove", Plane: Data, Repeat: RepeatSafe, Forms: post(sandboxG + "/ports/remove")},
	PortReplace: {Name: "port.replace", Plane: Data, Repeat: RepeatSafe, Forms: put(sandboxG + "/ports")},
	PortPatch:   {Name: "port.patch", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodPatch, sandboxG+"/ports")},

	EgressSet: {Name: "egress.set", Plane: Data, Repeat: RepeatSafe, Secret: true, Forms: post(sandboxG + "/egresspolicy")},
	EgressDecisions: {Name: "egress.decisions", Plane: Data, Repeat: RepeatSafe, Forms: []Form{
		{Versions: []Version{V0201}, Method: http.MethodGet, Path: sandboxG + "/egress-decisions"},
		{Versions: []Version{V0901}, Method: http.MethodGet, Path: sandboxG + "/egressDecisions"},
	}},
	EgressPolicyPut:    {Name: "egress_policy.put", Plane: Data, Repeat: RepeatSafe, Secret: true, Forms: since0901(http.MethodPut, group+"/egressPolicies/{policy}")},
	EgressPolicyGet:    {Name: "egress_policy.get", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodGet, group+"/egressPolicies/{policy}")},
	EgressPolicyList:   {Name: "egress_policy.list", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodGet, group+"/egressPolicies")},
	EgressPolicyDelete: {Name: "egress_policy.delete", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodDelete, group+"/egressPolicies/{policy}")},

	ConnectionList:   {Name: "connection.list", Plane: Data, Repeat: RepeatSafe, Forms: get(group + "/connections")},
	ConnectionCreate: {Name: "connection.create", Plane: Data, Secret: true, Forms: since0901(http.MethodPost, group+"/connections")},
	ConnectionDelete: {Name: "connection.delete", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodDelete, group+"/connections/{connection}")},
	ConnectionAttach: {Name: "connection.attach", Plane: Data, Forms: post(sandboxG + "/connections/add")},
	CredentialPut:    {Name: "credential.put", Plane: Data, Repeat: RepeatSafe, Secret: true, Forms: since0901(http.MethodPut, group+"/credentials/{credential}")},
	CredentialGet:    {Name: "credential.get", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodGet, group+"/credentials/{credential}")},
	CredentialList:   {Name: "credential.list", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodGet, group+"/credentials")},
	CredentialDelete: {Name: "credential.delete", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodDelete, group+"/credentials/{credential}")},
	PackageList:      {Name: "package.list", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodGet, group+"/contentpackages")},
	PackageUpload:    {Name: "package.upload", Plane: Data, Forms: since0901(http.MethodPost, group+"/contentpackages/upload")},
	PackageDownload:  {Name: "package.download", Plane: Data, Repeat: RepeatSafe, Forms: since0901(http.MethodPost, sandboxG+"/downloadContentPackage")},
}
