import { runRole } from '../role.js'

runRole('edge', async () => (await import('../edge.js')).startEdge)
