import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  Connection,
  Keypair,
  PublicKey,
  SystemProgram,
  Transaction,
  type TransactionInstruction,
} from '@solana/web3.js'
import bs58 from 'bs58'
import t, { type Test } from 'tap'
import { currentGeneration, storesPath } from '../../src/storage/generations.js'
import { askAdmin } from '../fixtures/dashboard/admin.js'
import { callText, startDeployment } from '../fixtures/processes/deployment.js'
import { repositoryPath } from '../fixtures/repository.js'
import { SHARED_ABSENT, sharedPath } from '../fixtures/shared.js'
import { receive, shapeFault, slotOf, valueOf } from '../fixtures/pubsub/notifications.js'
import { openSubscriber, toMembers, type Subscriber } from '../fixtures/pubsub/subscriber.js'
import { until } from '../fixtures/until.js'

const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const SYSTEM = '1'.repeat(32)
const CONFIRMED = { commitment: 'confirmed' }
const LAMPORTS = 1_000_000_000

const deployment = await startDeployment(t, {
  args: ['--edges', '2', '--traffic', '20', '--slot-ms', '100'],
})
const { description } = deployment
const [{ wsUrl, rpcUrl }] = description.locations
const { samples } = description
const payer = Keypair.fromSecretKey(bs58.decode(samples['payerSecretKey'] ?? ''))
const connection = new Connection(rpcUrl, { wsEndpoint: wsUrl, commitment: 'confirmed' })

const open = async (t: Test, url = wsUrl): Promise<Subscriber> => {
  const subscriber = await openSubscriber(url)
  t.teardown(() => subscriber.close())
  return subscriber
}

/** A signed transaction, not sent yet. */
const sign = async (instruction: TransactionInstruction, ...signers: Keypair[]) => {
  const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash()
  const transaction = new Transaction({
    feePayer: payer.publicKey,
    blockhash,
    lastValidBlockHeight,
  })
  transaction.add(instruction).sign(payer, ...signers)
  const send = () => connection.sendRawTransaction(transaction.serialize(), { skipPreflight: true })
  return { signature: bs58.encode(transaction.signature ?? new Uint8Array(64)), send }
}

const transfer = (to: PublicKey, lamports: number) =>
  sign(SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: to, lamports }))

t.test('an account is created and closed', async t => {
  const subscriber = await open(t)
  const owner = Keypair.generate()
  const key = owner.publicKey.toBase58()
  const id = await subscriber.subscribe('accountSubscribe', [key, CONFIRMED])
  t.equal(subscriber.order[0], 'reply')
  const created = await transfer(owner.publicKey, LAMPORTS)
  await created.send()
  const [first] = await receive(subscriber, id)
  t.equal(
    first?.text,
    `{"jsonrpc":"2.0","method":"accountNotification","params":{"result":{"context":{"slot":${slotOf(first)}},` +
      `"value":{"lamports":${LAMPORTS},"data":["","base64"],"owner":"${SYSTEM}","executable":false,` +
      `"rentEpoch":18446744073709551615,"space":0}},"subscription":${id}}}`,
  )
  const back = SystemProgram.transfer({
    fromPubkey: owner.publicKey,
    toPubkey: payer.publicKey,
    lamports: LAMPORTS,
  })
  await (await sign(back, owner)).send()
  const [, closed] = await receive(subscriber, id, 2)
  t.strictSame(valueOf(closed), {
    lamports: 0,
    data: ['', 'base64'],
    owner: SYSTEM,
    executable: false,
    rentEpoch: 0,
    space: 0,
  })
  t.equal(await subscriber.call('accountUnsubscribe', [id]), true)
  await (await transfer(owner.publicKey, LAMPORTS)).send()
  const slots = await subscriber.subscribe('slotSubscribe')
  await receive(subscriber, slots, 3)
  t.equal(subscriber.notifications.filter(one => one.subscription === id).length, 2)
})

t.test('a program with filters, slices and parsed token accounts', async t => {
  const subscriber = await open(t)
  const mint = samples['mint'] ?? ''
  const memcmp = { memcmp: { offset: 0, bytes: mint } }
  const options = { ...CONFIRMED, filters: [{ dataSize: 165 }, memcmp] }
  const whole = await subscriber.subscribe('programSubscribe', [TOKEN, options])
  const parsed = await subscriber.subscribe('programSubscribe', [
    TOKEN,
    { ...options, encoding: 'jsonParsed' },
  ])
  const sliced = await subscriber.subscribe('programSubscribe', [
    TOKEN,
    { ...options, encoding: 'base58', dataSlice: { offset: 0, length: 32 } },
  ])
  const none = await subscriber.subscribe('programSubscribe', [
    TOKEN,
    { filters: [{ dataSize: 166 }] },
  ])
  t.equal(new Set([whole, parsed, sliced, none]).size, 4)
  const [a] = await receive(subscriber, whole)
  const { pubkey, account } = toMembers(valueOf(a))
  t.match(account, { owner: TOKEN, space: 165 })
  t.equal(typeof pubkey, 'string')
  const [b] = await receive(subscriber, parsed)
  t.match(valueOf(b), {
    account: { data: { program: 'spl-token', parsed: { type: 'account', info: { mint } } } },
  })
  const [c] = await receive(subscriber, sliced)
  t.match(valueOf(c), { account: { data: [mint, 'base58'], space: 165 } })
  t.notOk(subscriber.notifications.some(({ subscription }) => subscription === none))
})

t.test('logs and signatures of a success and of a failure', async t => {
  const subscriber = await open(t)
  const mentions = { mentions: [payer.publicKey.toBase58()] }
  const logs = await subscriber.subscribe('logsSubscribe', [mentions, CONFIRMED])
  const all = await subscriber.subscribe('logsSubscribe', ['all'])
  const good = await transfer(Keypair.generate().publicKey, LAMPORTS)
  const options = { ...CONFIRMED, enableReceivedNotification: true }
  const received = await subscriber.subscribe('signatureSubscribe', [good.signature, options])
  const plain = await subscriber.subscribe('signatureSubscribe', [good.signature, CONFIRMED])
  const rooted = await subscriber.subscribe('signatureSubscribe', [good.signature])
  const roots = await subscriber.subscribe('rootSubscribe', [])
  await good.send()
  const [first, second] = await receive(subscriber, received, 2)
  t.equal(valueOf(first), 'receivedSignature')
  t.strictSame(valueOf(second), { err: null })
  const [outcome] = await receive(subscriber, plain)
  t.strictSame(valueOf(outcome), { err: null })
  t.equal(slotOf(outcome), slotOf(second))
  const [logged] = await receive(subscriber, logs)
  t.match(valueOf(logged), {
    signature: good.signature,
    err: null,
    logs: [`Program ${SYSTEM} invoke [1]`, `Program ${SYSTEM} success`],
  })
  await receive(subscriber, all, 3)

  const known = await subscriber.subscribe('signatureSubscribe', [good.signature, CONFIRMED])
  await receive(subscriber, known)
  t.equal(await subscriber.call('signatureUnsubscribe', [known]), true, 'it has ended by itself')
  const [final] = await receive(subscriber, rooted)
  t.strictSame(valueOf(final), { err: null })
  const order = subscriber.notifications.filter(
    one => one === final || (one.subscription === roots && Number(one.result) >= slotOf(final)),
  )
  t.ok(order[0] !== final, 'not before the root')

  const poor = Keypair.generate()
  const bad = await sign(
    SystemProgram.transfer({ fromPubkey: poor.publicKey, toPubkey: payer.publicKey, lamports: 1 }),
    poor,
  )
  const failing = await subscriber.subscribe('signatureSubscribe', [bad.signature, CONFIRMED])
  await bad.send()
  const [failed] = await receive(subscriber, failing)
  const err = { InstructionError: [0, { Custom: 1 }] }
  t.strictSame(valueOf(failed), { err })
  const [, failedLogs] = await receive(subscriber, logs, 2)
  t.match(valueOf(failedLogs), { signature: bad.signature, err })
})

t.test('slots ascend, and roots follow', async t => {
  const subscriber = await open(t)
  const slots = await subscriber.subscribe('slotSubscribe')
  const roots = await subscriber.subscribe('rootSubscribe', [])
  const slotFrames = (await receive(subscriber, slots, 4)).map(({ result }) => toMembers(result))
  for (const [index, { slot, parent, root }] of slotFrames.entries()) {
    t.ok(Number(root) <= Number(slot) && Number(parent) < Number(slot))
    if (index > 0) t.equal(parent, slotFrames[index - 1]?.['slot'])
  }
  const [one, other] = (await receive(subscriber, roots, 2)).map(({ result }) => Number(result))
  t.ok((one ?? 0) < (other ?? 0))
})

t.test('replies on the wire', async t => {
  const subscriber = await open(t)
  const id = await subscriber.subscribe('slotSubscribe')
  t.equal(await subscriber.subscribe('slotSubscribe'), id, 'the same again is the same')
  const cases: [request: string, reply: unknown][] = [
    [
      `{"jsonrpc":"2.0","id":"a","method":"slotUnsubscribe","params":[${id}]}`,
      { jsonrpc: '2.0', result: true, id: 'a' },
    ],
    [
      '{"jsonrpc":"2.0","id":null,"method":"accountUnsubscribe","params":[4294967295]}',
      { jsonrpc: '2.0', error: { code: -32602, message: 'Invalid subscription id.' }, id: null },
    ],
    [
      '{"jsonrpc":"2.0","id":1.50,"method":"accountSubscribe","params":["x"]}',
      {
        jsonrpc: '2.0',
        error: { code: -32602, message: 'Invalid Request: Invalid pubkey provided' },
        id: 1.5,
      },
    ],
    ['{"jsonrpc":"2.0","id":7,"method":"getHealth"}', { jsonrpc: '2.0', result: 'ok', id: 7 }],
  ]
  for (const [request, reply] of cases)
    t.strictSame(await subscriber.exchange(request), reply, request)

  const key = samples['wallet'] ?? ''
  const batch = await subscriber.exchange(
    `[{"method":"accountSubscribe","jsonrpc":"2.0","id":0,"params":["${key}"]},` +
      '{"method":"slotSubscribe","jsonrpc":"2.0","id":0},{"jsonrpc":"2.0","method":"ping"},' +
      '{"jsonrpc":"2.0","id":1,"method":"getHealth"}]',
  )
  if (!Array.isArray(batch)) throw new TypeError('no batch')
  const [account, slot, health] = batch.map(toMembers)
  t.equal(batch.length, 3)
  t.equal(health?.['result'], 'ok')
  t.not(account?.['result'], slot?.['result'])
  await receive(subscriber, Number(slot?.['result']))
})

t.test('subscription methods are not found over HTTP', async t => {
  for (const method of ['slotSubscribe', 'slotUnsubscribe', 'blockSubscribe'])
    t.strictSame(JSON.parse(await callText(rpcUrl, method, [])), {
      jsonrpc: '2.0',
      error: { code: -32601, message: 'Method not found' },
      id: 1,
    })
})

t.test('repeated failures are delayed, and the socket stays', async t => {
  const subscriber = await open(t)
  const fail = () =>
    t.rejects(subscriber.call('slotsUpdatesSubscribe'), { message: '-32601 Method not found' })
  const startMs = performance.now()
  for (let i = 0; i < 5; i++) await fail()
  t.ok(performance.now() - startMs >= 150, 'three at once, then up to 0.1 s and 0.2 s')
  const slots = await subscriber.subscribe('slotSubscribe')
  for (let i = 0; i < 40; i++)
    subscriber.send(`{"jsonrpc":"2.0","id":${i},"method":"slotUnsubscribe","params":[0]}`)
  t.equal(await subscriber.call('slotUnsubscribe', [slots]), true)
})

t.test('subscriptions of a socket are bounded by its access', async t => {
  const { body } = await askAdmin(deployment, 'POST', '/accesses', {
    subject: 'few',
    kind: 'pass',
    product: 'node-access',
    limits: { subscriptionsPerSocketMax: 2 },
  })
  const path = `/accesses/${String(body['accessId'])}/networks/sandbox/locations/fra/token`
  const { body: made } = await askAdmin(deployment, 'POST', path)
  const subscriber = await open(t, `ws://127.0.0.1:${deployment.port}/${String(made['token'])}`)
  const first = await subscriber.subscribe('slotSubscribe')
  await subscriber.subscribe('rootSubscribe')
  await t.rejects(subscriber.call('logsSubscribe', ['all']), {
    message: '-32603 Internal Error: Subscription refused. Connection subscription limit reached',
  })
  t.equal(await subscriber.call('slotUnsubscribe', [first]), true)
  await subscriber.subscribe('logsSubscribe', ['all'])
})

const clients = sharedPath('clients')
const exchanges = sharedPath('rpc-exchanges')

t.test(
  'recorded messages of clients are answered',
  { skip: !clients && SHARED_ABSENT },
  async t => {
    const folder = clients ?? ''
    let count = 0
    for (const file of readdirSync(folder)) {
      const { records } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as {
        readonly records: readonly { readonly transport?: string; readonly body?: string }[]
      }
      const frames = records.flatMap(({ transport, body }) =>
        transport === 'ws-frame' && body?.includes('ubscribe') === true ? [body] : [],
      )
      if (frames.length === 0) continue
      const subscriber = await open(t)
      for (const frame of frames) {
        count += 1
        const request: unknown = JSON.parse(frame)
        const reply = await subscriber.exchange(frame)
        const replies = (Array.isArray(reply) ? reply : [reply]).map(toMembers)
        const requests = (Array.isArray(request) ? request : [request]).map(toMembers)
        t.strictSame(
          replies.map(({ id }) => id),
          requests.map(({ id }) => id),
        )
        for (const [index, { result, error }] of replies.entries()) {
          const method = String(requests[index]?.['method'])
          const { code } = error === undefined ? { code: undefined } : toMembers(error)
          if (method.startsWith('slotsUpdates')) t.equal(code, -32601, method)
          else if (method.endsWith('Unsubscribe')) t.equal(code, -32602, `${method} of no id here`)
          else t.ok(Number(result) > 0, method)
        }
      }
      subscriber.close()
    }
    t.ok(count > 20, `${count} frames`)
  },
)

t.test(
  'notifications have the shape of those of other nodes',
  { skip: !exchanges && SHARED_ABSENT },
  async t => {
    const folder = exchanges ?? ''
    const subscriber = await open(t)
    const good = await transfer(Keypair.generate().publicKey, LAMPORTS)
    await subscriber.subscribe('accountSubscribe', [
      payer.publicKey.toBase58(),
      { encoding: 'base58' },
    ])
    await subscriber.subscribe('logsSubscribe', [{ mentions: [payer.publicKey.toBase58()] }])
    await subscriber.subscribe('signatureSubscribe', [good.signature, CONFIRMED])
    await subscriber.subscribe('slotSubscribe')
    await subscriber.subscribe('rootSubscribe')
    await good.send()
    const kinds = ['account', 'logs', 'signature', 'slot', 'root'].map(
      kind => `${kind}Notification`,
    )
    const find = (method: string) => subscriber.notifications.find(one => one.method === method)
    await until('one of each', () => kinds.every(method => find(method) !== undefined))
    const seen = new Set<string>()
    for (const file of readdirSync(folder)) {
      const recorded: readonly { readonly response?: unknown }[] = JSON.parse(
        readFileSync(join(folder, file), 'utf8'),
      )
      for (const { response } of recorded) {
        if (typeof response !== 'object' || response === null || !('method' in response)) continue
        const method = String(response.method)
        if (!kinds.includes(method)) continue
        seen.add(method)
        t.equal(shapeFault(response, JSON.parse(find(method)?.text ?? '')), undefined, method)
      }
    }
    t.strictSame([...seen].sort(), [...kinds].sort())
  },
)

const page = readFileSync(repositoryPath('docs/websocket.md'), 'utf8')

t.test('the example of websocket.md runs', async t => {
  const [, source = ''] = /```js\n([\s\S]*?)```/.exec(page) ?? []
  const child = spawn(process.execPath, ['--input-type=module', '-e', source], {
    env: { ...process.env, RPC_URL: rpcUrl, WS_URL: wsUrl },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const killer = setTimeout(() => child.kill(), 20_000)
  let output = ''
  for await (const chunk of child.stdout) output += String(chunk)
  clearTimeout(killer)
  t.match(output, /^slot \d+ after \d+, root \d+\n$/)
})

t.test('the messages of websocket.md are true', async t => {
  const [, request = '', reply = '', notification = ''] =
    /```json\n(.*)\n(.*)\n(.*)\n```/.exec(page) ?? []
  const subscriber = await open(t)
  const answer = toMembers(await subscriber.exchange(request))
  t.strictSame(Object.keys(answer), Object.keys(JSON.parse(reply)))
  const [first] = await receive(subscriber, Number(answer['result']))
  const digits = (text = ''): string => text.replace(/\d+/g, '0')
  t.equal(digits(first?.text), digits(notification))
})

t.test('another chain closes sockets with subscriptions, and they reconnect', async t => {
  const [listening, quiet] = [await open(t), await open(t)]
  const id = await listening.subscribe('slotSubscribe')
  await receive(listening, id)
  const before = currentGeneration(storesPath(deployment.dataDir, 'sandbox'))
  const [pid = 0] = deployment.pidsOf('sandbox')
  process.kill(pid, 'SIGKILL')
  t.match(await listening.ended, { code: 1012, reason: 'index replaced' })
  t.not(currentGeneration(storesPath(deployment.dataDir, 'sandbox')), before)
  t.equal(await quiet.call('getHealth'), 'ok')
  t.equal(quiet.isEnded(), false)
  const again = await open(t)
  await receive(again, await again.subscribe('slotSubscribe'), 2)
})

t.test('the end of the service closes all sockets with 1012', async t => {
  const [one, other] = [await open(t), await open(t)]
  await one.subscribe('slotSubscribe')
  const ended = Promise.all([one.ended, other.ended])
  const code = deployment.stop()
  for (const end of await ended) t.match(end, { code: 1012, reason: 'restart' })
  t.equal(await code, 0)
})
