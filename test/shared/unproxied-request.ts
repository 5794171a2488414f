import t from 'tap'
import { unproxiedHosts, isUnproxiedRequest } from '../../src/shared/unproxied-request.js'

const isDirect = (
  headers: Readonly<Record<string, string>>,
  hosts = unproxiedHosts('10.0.0.5', ['Metrics.Example', 'fd00::1']),
): boolean => isUnproxiedRequest(name => headers[name], hosts)

t.test('names of loopback, of the listener and of the configuration', t => {
  for (const host of [
    'localhost',
    'localhost:9464',
    'LOCALHOST:1',
    '127.0.0.1',
    '127.0.0.1:9464',
    '127.9.8.7:1',
    '127.1:9464',
    '[::1]:9464',
    '10.0.0.5:9464',
    'metrics.example',
    '[fd00::1]:1',
  ])
    t.equal(isDirect({ host }), true, host)
  t.end()
})

t.test('any other name is refused', t => {
  for (const host of [
    '',
    'evil.example',
    'evil.example:9464',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'user@127.0.0.1',
    '127.0.0.1/..',
    '127.0.0.1, evil.example',
    'evil.example#127.0.0.1',
    '10.0.0.6',
    '[::2]',
    'xlocalhost',
    '128.0.0.1',
  ])
    t.equal(isDirect({ host }), false, host)
  t.equal(isDirect({}), false, 'no name')
  t.end()
})

t.test('a request that a proxy passed on is refused', t => {
  for (const name of [
    'forwarded',
    'via',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-real-ip',
  ])
    for (const value of ['', '127.0.0.1'])
      t.equal(isDirect({ host: 'localhost', [name]: value }), false, name)
  t.end()
})
