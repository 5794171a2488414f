import { runRole } from '../role.js'

runRole('sender', async () => (await import('../sender.js')).startSender)
