import t from 'tap'
import { createProxies, formatAddress, parseAddress } from '../../../src/server/http/address.js'
import {
  connect,
  exchange,
  openTestServer,
  post,
  proxyHeader,
  replyCount,
  splitReplies,
  statusOf,
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
    ['1.2.3.4:50123', '1.2.3.4'],
    ['6.6.6.6:1, 1.2.3.4:2, 10.0.0.1:65535', '1.2.3.4'],
    ['[2001:db9::7]:443, [2001:db8::7]:1', '2001:db9::7'],
    ['[2001:db9::7]', '2001:db9::7'],
    ['2001:db9::7', '2001:db9::7'],
    ['[::ffff:1.2.3.4]:9', '1.2.3.4'],
    ['1.2.3.4:', undefined],
    ['1.2.3.4:123456', undefined],
    ['[1.2.3.4', undefined],
    ['[2001:db9::7]x', undefined],
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
  t.equal(await addressSeen(plain.port, forwarded('9.9.9.9')), '127.0.0.1')

  const { port } = await openTestServer(t, [reportAddress], {
    options: { trustedProxies: ['127.0.0.9'] },
  })
  const trusted = '127.0.0.9'
  t.equal(await addressSeen(port, forwarded('9.9.9.9')), '127.0.0.1')
  t.equal(await addressSeen(port, post('/t', 'x'), trusted), trusted)
  t.equal(await addressSeen(port, forwarded('9.9.9.9'), trusted), '9.9.9.9')
  t.equal(
    await addressSeen(port, forwarded('8.8.8.8', '9.9.9.9'), trusted),
    '9.9.9.9',
    'the last line',
  )
  t.equal(await addressSeen(port, forwarded('nonsense'), trusted), trusted)

  const dual = await openTestServer(t, [reportAddress], { listeners: [{ host: '::', port: 0 }] })
  t.equal(await addressSeen(dual.port, post('/t', 'x')), '127.0.0.1', 'mapped into IPv6')
})

/** Sends bytes in packets of their own; what was received at the close, or after a whole reply. */
const sendPackets = async (port: number, packets: readonly string[], localAddress: string) => {
  const connection = await connect(port, { localAddress })
  connection.socket.setNoDelay()
  for (const packet of packets) {
    connection.socket.write(packet, 'latin1')
    await new Promise(resolve => setImmediate(() => setImmediate(resolve)))
  }
  const received = await connection.until(now => replyCount(now) > 0)
  if (statusOf(received) !== '200') await connection.closed
  connection.socket.destroy()
  return connection.received()
}

t.test('a PROXY header states no address, and is no part of a request', async t => {
  const seen: string[] = []
  const { port } = await openTestServer(
    t,
    [
      {
        open: request => void seen.push(request.address),
        handle: () => text('handled'),
      },
    ],
    { options: { trustedProxies: ['127.0.0.9'] } },
  )
  const request = post('/t', 'x')
  for (const version of [1, 2] as const) {
    const header = proxyHeader('9.9.9.9', version)
    const cases: [name: string, packets: string[]][] = [
      ['with the request', [header + request]],
      ['in a packet of its own', [header, request]],
      ['cut', [header.slice(0, 9), header.slice(9) + request]],
      ['byte by byte', [...header, request]],
      ['twice', [header + header + request]],
    ]
    for (const peer of ['127.0.0.1', '127.0.0.9'])
      for (const [name, packets] of cases) {
        seen.length = 0
        const received = await sendPackets(port, packets, peer)
        t.notOk(seen.includes('9.9.9.9'), `version ${version}, ${name}, from ${peer}`)
        t.equal(statusOf(received), '400', `version ${version}, ${name}, from ${peer}`)
        t.strictSame(seen, [])
      }
    seen.length = 0
    const later = await connect(port, { localAddress: '127.0.0.9' })
    later.socket.write(post('/t', 'x', ['X-Forwarded-For: 8.8.8.8']), 'latin1')
    await later.until(now => replyCount(now) > 0)
    later.socket.write(header + request, 'latin1')
    await later.closed
    later.socket.destroy()
    t.notOk(seen.includes('9.9.9.9'), 'before a later request of a connection')
    t.equal(seen.length, 1)
  }
})
