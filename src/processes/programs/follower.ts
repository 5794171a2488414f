import { runRole } from '../role.js'

runRole('follower', async () => (await import('../follower.js')).startFollower)
