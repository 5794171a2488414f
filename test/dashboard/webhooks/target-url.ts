import t from 'tap'
import { defaults } from '../../../src/dashboard/webhooks/options.js'
import { parseTargetUrl } from '../../../src/dashboard/webhooks/target-url.js'

const long = (chars: number): string => 'https://a.example/'.padEnd(chars, 'x')
const HTTPS = 'must begin with https://'
const RESERVED = 'must have a public address: this one is of a private or reserved network'

const CASES: readonly (readonly [text: string, expected: string])[] = [
  ['https://hooks.example.com/a?b=c', 'https://hooks.example.com/a?b=c'],
  [' https://hooks.example.com ', 'https://hooks.example.com/'],
  ['https://hooks.example.com:8443/', 'https://hooks.example.com:8443/'],
  ['https://8.8.8.8/', 'https://8.8.8.8/'],
  [long(2_048), long(2_048)],
  [long(2_049), 'must be at most 2048 characters'],
  ['', 'must be a URL, such as https://hooks.example.com/a1b2'],
  ['hooks.example.com', 'must be a URL, such as https://hooks.example.com/a1b2'],
  ['ftp://hooks.example.com', HTTPS],
  ['file:///etc/passwd', HTTPS],
  ['javascript:alert(1)', HTTPS],
  ['http://hooks.example.com', HTTPS],
  [
    'https://a:b@hooks.example.com',
    'must have no user name and password; put a secret into the path',
  ],
  [
    'https://a@hooks.example.com',
    'must have no user name and password; put a secret into the path',
  ],
  ['https://hooks.example.com/#a', 'must have no fragment (#)'],
  ['https://127.0.0.1/', RESERVED],
  ['https://0x7f.1/', RESERVED],
  ['https://2130706433/', RESERVED],
  ['https://127.0.0.1./', RESERVED],
  ['https://[::1]/', RESERVED],
  ['https://[::ffff:127.0.0.1]/', RESERVED],
  ['https://169.254.169.254/latest', RESERVED],
  ['https://localhost/', RESERVED],
  ['https://a.LOCALHOST./', RESERVED],
  ['http://127.0.0.1/', HTTPS],
]

t.test('URLs of webhooks', async t => {
  for (const [text, expected] of CASES) {
    const parsed = parseTargetUrl(text, defaults)
    t.equal('url' in parsed ? parsed.url.href : parsed.problem, expected, text.slice(0, 60))
  }
})

t.test('a sandbox permits http and addresses of this machine, and no others', async t => {
  const options = { ...defaults, allowLoopback: true }
  const isGood = (text: string): boolean => 'url' in parseTargetUrl(text, options)
  for (const good of ['http://127.0.0.1:9/', 'https://[::1]/', 'http://localhost:1/'])
    t.ok(isGood(good), good)
  for (const bad of ['http://10.0.0.1/', 'https://10.0.0.1/', 'http://hooks.example.com/'])
    t.notOk(isGood(bad), bad)
})
