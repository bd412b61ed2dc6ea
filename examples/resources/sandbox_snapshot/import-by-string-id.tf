import {
  to = sandbox_snapshot.warm
  id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg-agents/providers/Microsoft.App/sandboxGroups/agents/snapshots/9a512f6d-0c1e-4b44-8f0e-7b0c2f3e1d5a"
}
