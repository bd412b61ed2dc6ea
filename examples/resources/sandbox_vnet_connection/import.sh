terraform import sandbox_vnet_connection.internal /subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/rg-agents/providers/Microsoft.App/sandboxGroups/agents/vnetConnections/internal
