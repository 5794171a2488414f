import t from 'tap'
import { createBytesSource } from '../../../src/server/http/body-source.js'
import { createProxies, formatAddress, parseAddress } from '../../../src/server/http/address.js'
import {
  connect,
  exchange,
  isPrebuilt,
  openTestServer,
  post,
  proxyHeader,
  replyCount,
  splitReplies,
  text,
} from '../../fixtures/server/server.js'

t.test('formatAddress writes addresses as text', async t => {
  const cases: [bytes: number[], address: string][] = [
    [[127, 0, 0, 1], '127.0.0.1'],
    [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 10, 1, 2, 3], '10.1.2.3'],
    [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], '::1'],
    [[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], '::'],
    [[0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], '2001:db8::1'],
    [[0x20, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], '2001:0:0:1::1'],
    [[0x20, 1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1], '2001:0:1:1:1:1:1:1'],
    [[0x20, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0], '2001:1:1:1:1:1::'],
    [[], ''],
  ]
  for (const [bytes, address] of cases) {
    t.equal(formatAddress(Uint8Array.from(bytes)), address)
    if (address !== '') t.equal(parseAddress(address), address)
  }
  for (const [written, address] of [
    ['::ffff:1.2.3.4', '1.2.3.4'],
    [' 1.2.3.4 ', '1.2.3.4'],
    ['2001:DB8:0:0:0:0:0:1', '2001:db8::1'],
    ['1.2.3', undefined],
    ['1.2.3.4:80', undefined],
    ['fe80::1%eth0', undefined],
    ['unknown', undefined],
    ['', undefined],
  ] as const) {
    t.equal(parseAddress(written), address, written)
  }
})

t.test('clientOf finds the client in a chain of proxies', async t => {
  const proxies = createProxies(['127.0.0.9', '10.0.0.0/8', '2001:db8::/32'])
  for (const [address, isTrusted] of [
    ['127.0.0.9', true],
    ['127.0.0.1', false],
    ['10.9.9.9', true],
    ['11.0.0.1', false],
    ['2001:db8::7', true],
    ['::1', false],
    ['', false],
  ] as const) {
    t.equal(proxies.isTrusted(address), isTrusted, address)
  }
  for (const [chain, client] of [
    ['1.2.3.4', '1.2.3.4'],
    ['6.6.6.6, 1.2.3.4', '1.2.3.4'],
    ['6.6.6.6, 1.2.3.4, 10.0.0.1', '1.2.3.4'],
    ['10.0.0.2, 10.0.0.1', '10.0.0.2'],
    ['1.2.3.4, nonsense', undefined],
    ['', undefined],
  ] as const) {
    t.equal(proxies.clientOf(chain), client, chain)
  }
  for (const entry of ['nonsense', '1.2.3.4/33', '1.2.3.4/', '::/129', '1.2.3.4/x']) {
    t.throws(() => createProxies([entry]), {
      message: `trustedProxies: ${entry} is not an address`,
    })
  }
})

t.test('a forwarded address counts only from a trusted proxy', async t => {
  const reportAddress = {
    open: (request: { readonly address: string }) => request.address,
    handle: (address: unknown) => text(String(address)),
  }
  const addressSeen = async (port: number, bytes: string, localAddress?: string) =>
    splitReplies(await exchange(port, bytes, localAddress === undefined ? {} : { localAddress }))[0]
      ?.body
  const forwarded = (...lines: string[]) =>
    post(
      '/t',
      'x',
      lines.map(line => `X-Forwarded-For: ${line}`),
    )

  const plain = await openTestServer(t, [reportAddress])
  t.equal(await addressSeen(plain.port, post('/t', 'x')), '127.0.0.1')
  t.match(
    await addressSeen(plain.port, proxyHeader('9.9.9.9') + post('/t', 'x')),
    isPrebuilt ? '127.0.0.1' : 'Bad request',
    'without a trusted proxy its header is not part of HTTP',
  )
  t.equal(await addressSeen(plain.port, forwarded('9.9.9.9')), '127.0.0.1')

  const { port } = await openTestServer(t, [reportAddress], {
    options: { trustedProxies: ['127.0.0.9'] },
  })
  const trusted = '127.0.0.9'
  t.equal(await addressSeen(port, proxyHeader('9.9.9.9') + post('/t', 'x')), '127.0.0.1')
  t.equal(await addressSeen(port, forwarded('9.9.9.9')), '127.0.0.1')
  t.equal(await addressSeen(port, post('/t', 'x'), trusted), trusted)
  t.equal(await addressSeen(port, forwarded('9.9.9.9'), trusted), '9.9.9.9')
  t.equal(
    await addressSeen(port, forwarded('8.8.8.8', '9.9.9.9'), trusted),
    '9.9.9.9',
    'the last line',
  )
  t.equal(await addressSeen(port, forwarded('nonsense'), trusted), trusted)
  t.equal(await addressSeen(port, proxyHeader('9.9.9.9') + post('/t', 'x'), trusted), '9.9.9.9')
  t.equal(
    await addressSeen(port, proxyHeader('9.9.9.9') + forwarded('8.8.8.8'), trusted),
    '9.9.9.9',
    'what a client writes behind a PROXY header proves nothing',
  )

  const twice = await connect(port, { localAddress: trusted })
  const first = proxyHeader('9.9.9.9') + post('/t', 'x')
  const second = proxyHeader('8.8.8.8') + post('/t', 'x')
  twice.socket.write(first, 'latin1')
  await twice.until(now => replyCount(now) > 0)
  twice.socket.write(second, 'latin1')
  await twice.closed
  t.notMatch(twice.received(), '8.8.8.8', 'a second PROXY header is ignored')
  const atOnce = await connect(port, { localAddress: trusted })
  atOnce.socket.write(first + second, 'latin1')
  await atOnce.closed
  t.notMatch(atOnce.received(), '8.8.8.8')

  const reused = Buffer.alloc(5)
  const reusing = await openTestServer(
    t,
    [
      {
        handle: () => {
          setImmediate(() => reused.fill('!'))
          return text(reused.fill('a'))
        },
      },
    ],
    { options: { trustedProxies: [trusted] } },
  )
  const proxied = proxyHeader('9.9.9.9') + post('/t', 'x')
  t.equal(await addressSeen(reusing.port, proxied, trusted), 'aaaaa', 'its reply is its own')

  for (const isKnown of [true, false]) {
    const large = await openTestServer(
      t,
      [
        {
          handle: () => {
            const source = createBytesSource(Buffer.alloc(1024 ** 2, 'a'), () => {})
            return text(isKnown ? source : { ...source, byteLength: undefined })
          },
        },
      ],
      { options: { trustedProxies: [trusted] } },
    )
    const whole = await connect(large.port, { localAddress: trusted })
    whole.socket.write(proxied, 'latin1')
    await whole.closed
    const [reply] = splitReplies(whole.received())
    t.match(reply?.head, /Connection: close/)
    t.ok(reply?.body === 'a'.repeat(1024 ** 2), `${reply?.body.length} bytes, then the end`)
    t.equal(large.server.stats().replyBytesInFlight, 0)
  }

  const dual = await openTestServer(t, [reportAddress], { listeners: [{ host: '::', port: 0 }] })
  t.equal(await addressSeen(dual.port, post('/t', 'x')), '127.0.0.1', 'mapped into IPv6')
})
