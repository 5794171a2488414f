import t from 'tap'
import { defaults } from '../../../src/shared/access-limits.js'
import {
  toAmended,
  toNewAccess,
  type AmendRequest,
  type GrantRequest,
  type Product,
} from '../../../src/access/accesses/product.js'
import type { Access } from '../../../src/access/store/tables.js'
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
  t.strictSame(grant({}), {
    ...whole,
    label: undefined,
    validFromMs: NOW_MS,
    validUntilMs: null,
  })
  const given = {
    label: 'ACME',
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

t.test('a change replaces what it names, within the product', t => {
  const access: Access = {
    accessId: 'acc_1',
    subject: 'ada',
    kind: 'pass',
    product: 'node',
    label: 'ACME',
    networks: ['main', 'former'],
    locations: ['fra'],
    limits: defaults,
    createdAtMs: 0,
    validFromMs: NOW_MS - 10,
    validUntilMs: null,
    endedAtMs: NOW_MS - 1,
  }
  const amend = (request: AmendRequest, products: readonly Product[] = [PRODUCT]) =>
    toAmended(products, request, access, NOW_MS)
  t.strictSame(amend({}), access)
  const changes: [request: AmendRequest, changed: Partial<Access>][] = [
    [{ label: '' }, { label: '' }],
    [{ networks: ['dev'] }, { networks: ['dev'] }],
    [{ networks: ['former', 'dev', 'dev'] }, { networks: ['former', 'dev'] }],
    [{ locations: ['nyc', 'fra'] }, { locations: ['nyc', 'fra'] }],
    [{ limits: { socketsMax: 0 } }, { limits: { ...defaults, socketsMax: 0 } }],
    [{ validUntilMs: NOW_MS + 1 }, { validUntilMs: NOW_MS + 1, endedAtMs: null }],
    [{ validUntilMs: null }, { endedAtMs: null }],
  ]
  for (const [request, changed] of changes) t.strictSame(amend(request), { ...access, ...changed })
  const refused: [request: AmendRequest, message: string][] = [
    [{ networks: ['moon'] }, 'The product does not offer the network moon'],
    [{ locations: ['fra', 'sin'] }, 'The product does not offer the location sin'],
    [{ networks: [] }, 'An access needs at least one network'],
    [{ locations: [] }, 'An access needs at least one location'],
    [{ validUntilMs: NOW_MS }, 'The end must lie after the begin and in the future'],
  ]
  for (const [request, message] of refused) t.throws(() => amend(request), { message })
  t.strictSame(amend({ networks: ['former'] }, []).networks, ['former'], 'it keeps what it has')
  t.throws(() => amend({ networks: ['dev'] }, []), { message: 'There is no product node' })
  t.end()
})
