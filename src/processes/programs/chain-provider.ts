import { runRole } from '../role.js'

runRole('chain-provider', async () => (await import('../../sandbox/process.js')).start)
