import t from 'tap'
import { defaults } from '../../../src/shared/access-limits.js'
import { toNewAccess, type GrantRequest } from '../../../src/access/accesses/product.js'
import { NOW_MS } from '../../fixtures/access/access.js'

const PRODUCT = {
  id: 'node',
  name: 'Node access',
  kind: 'node-access',
  networks: ['main', 'dev'],
  locations: ['fra', 'nyc'],
  limits: defaults,
} as const
const REQUEST: GrantRequest = { subject: 'ada', kind: 'pass', product: 'node' }
const grant = (more: Partial<GrantRequest>) =>
  toNewAccess([PRODUCT], { ...REQUEST, ...more }, NOW_MS)

t.test('omitted values are those of the product', t => {
  const { networks, locations, limits } = PRODUCT
  const whole = { subject: 'ada', kind: 'pass', product: 'node', networks, locations, limits }
  t.strictSame(grant({}), { ...whole, validFromMs: NOW_MS, validUntilMs: null })
  const given = {
    networks: ['dev'],
    locations: ['nyc', 'fra'],
    validFromMs: 1,
    validUntilMs: 2,
  }
  t.strictSame(grant({ ...given, limits: { socketsMax: 7 } }), {
    ...whole,
    ...given,
    limits: { ...limits, socketsMax: 7 },
  })
  t.strictSame(grant({ networks: ['dev', 'dev'] }).networks, ['dev'], 'each once')
  t.end()
})

t.test('scopes outside the product cannot be granted', t => {
  const cases: [more: Partial<GrantRequest>, message: string][] = [
    [{ product: 'gold' }, 'There is no product gold'],
    [{ networks: ['main', 'moon'] }, 'The product does not offer the network moon'],
    [{ locations: ['sin'] }, 'The product does not offer the location sin'],
    [{ networks: [] }, 'An access needs at least one network'],
    [{ locations: [] }, 'An access needs at least one location'],
  ]
  for (const [more, message] of cases) t.throws(() => grant(more), { message })
  t.end()
})
