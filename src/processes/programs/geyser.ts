import { runRole } from '../role.js'

runRole('geyser', async () => (await import('../geyser.js')).startGeyser)
