import {
  to = sandbox_secret.api
  id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg-agents/providers/Microsoft.App/sandboxGroups/agents/secrets/api-token"
}
