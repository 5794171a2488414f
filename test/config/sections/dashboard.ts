import t from 'tap'
import * as v from 'valibot'
import { dashboardSection } from '../../../src/config/sections/dashboard.js'

t.test('URLs of the dashboard and its provider use https or loopback', t => {
  const publicUrls: [given: unknown, right: boolean][] = [
    ['https://dashboard.example', true],
    ['https://dashboard.example:8443', true],
    ['http://127.0.0.1:9465', true],
    ['http://localhost:9465', true],
    ['http://[::1]:9465', true],
    ['http://dashboard.example', false],
    ['http://127.0.0.1.evil.example', false],
    ['https://dashboard.example/', false],
    ['https://dashboard.example/path', false],
    ['https://user@dashboard.example', false],
    ['https://DASHBOARD.example', false],
    ['dashboard.example', false],
    ['ftp://dashboard.example', false],
    ['', false],
    [1, false],
  ]
  for (const [publicUrl, right] of publicUrls)
    t.equal(v.is(dashboardSection, { publicUrl }), right, `publicUrl ${JSON.stringify(publicUrl)}`)
  const issuers: [given: unknown, right: boolean][] = [
    ['https://id.example', true],
    ['https://id.example/', true],
    ['https://id.example/realms/main', true],
    ['http://127.0.0.1:8909', true],
    ['http://id.example', false],
    ['https://id.example/?x', false],
    ['https://id.example/#x', false],
    ['https://user:secret@id.example', false],
    ['id.example', false],
    ['', false],
  ]
  for (const [issuer, right] of issuers)
    t.equal(
      v.is(dashboardSection, { identity: { issuer, clientId: 'c' } }),
      right,
      `issuer ${issuer}`,
    )
  t.notOk(v.is(dashboardSection, { identity: { issuer: 'https://id.example' } }), 'a client id')
  t.notOk(v.is(dashboardSection, { identity: { clientId: 'c' } }), 'an issuer')
  t.end()
})
