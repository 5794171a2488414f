import t from 'tap'
import { startDeployment } from '../fixtures/processes/deployment.js'
import { repositoryPath } from '../fixtures/repository.js'
import { pythonWith } from '../fixtures/sandbox/python.js'
import { skipAbsent } from '../fixtures/skip-absent.js'

const SCRIPT = repositoryPath('test/clients/solana_py.py')

t.test('solana-py reads, sends and subscribes', async t => {
  t.setTimeout(240_000)
  const found = pythonWith('solana', '0.41.0')
  if ('absent' in found) return skipAbsent(t, found.absent)
  const deployment = await startDeployment(t, {
    args: ['--edges', '1', '--traffic', '20', '--slot-ms', '100'],
  })
  const { locations, samples } = deployment.description
  const [{ rpcUrl, wsUrl }] = locations
  const [edge] = deployment.pidsOf('edge')
  const args = [SCRIPT, rpcUrl, wsUrl, JSON.stringify(samples), String(edge)]
  await t.spawn(found.python, args, 'its checks')
  t.equal(await deployment.stop(), 0)
})
