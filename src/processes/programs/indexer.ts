import { runRole } from '../role.js'

runRole('indexer', async () => (await import('../indexer.js')).startIndexer)
