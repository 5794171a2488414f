import t from 'tap'
import { sharedBusySandbox } from '../fixtures/processes/shared-sandbox.js'
import { repositoryPath } from '../fixtures/repository.js'
import { pythonWith } from '../fixtures/sandbox/python.js'
import { skipAbsent } from '../fixtures/skip-absent.js'

const SCRIPT = repositoryPath('test/clients/solana_py.py')

t.test('solana-py reads, sends and subscribes', async t => {
  t.setTimeout(240_000)
  const found = pythonWith('solana', '0.41.0')
  if ('absent' in found) return skipAbsent(t, found.absent)
  const deployment = await sharedBusySandbox()
  const { locations, samples } = deployment.description
  const [{ rpcUrl, wsUrl }] = locations
  const [edge] = deployment.pidsOf('edge')
  const args = [SCRIPT, rpcUrl, wsUrl, JSON.stringify(samples), String(edge)]
  await t.spawn(found.python, args, 'its checks')
})
