import {
  to = sandbox_disk_image.tool
  id = "/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg-agents/providers/Microsoft.App/sandboxGroups/agents/diskimages/2f6d0c1e-8b44-4f0e-9a51-7b0c2f3e1d5a"
}
