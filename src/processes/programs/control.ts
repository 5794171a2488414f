import { runRole } from '../role.js'

runRole('control', async () => (await import('../control.js')).startControl)
