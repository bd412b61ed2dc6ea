ephemeral "sandbox_access_token" "data_plane" {}

output "token" {
  value     = ephemeral.sandbox_access_token.data_plane.token
  ephemeral = true # for a module that calls this one
}
