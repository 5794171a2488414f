import { randomBytes } from 'node:crypto'
import t from 'tap'
import { CredentialForms } from '../../src/upstream/credential-forms.js'
import { Secret } from '../../src/shared/secret.js'
import { UpstreamFailure } from '../../src/upstream/errors.js'
import { answer, openRawUpstream, type Script } from '../fixtures/submission/raw-upstream.js'
import { openUpstream } from '../fixtures/upstream/client.js'

const SECRET = 'hml-canary/of "them"?key=~>9'
const BYTES = Buffer.from(SECRET)
const units = (format: (code: string) => string): string =>
  [...BYTES].map(byte => format(byte.toString(16).padStart(2, '0'))).join('')
const behind = (before: number): Buffer => Buffer.concat([Buffer.alloc(before, 'x'), BYTES])

/** Every form in which a server may repeat the key. */
const FORMS: Readonly<Record<string, string>> = {
  'as it is': SECRET,
  json: JSON.stringify({ echo: SECRET }),
  'json within json': JSON.stringify(JSON.stringify({ echo: SECRET })),
  'escaped slash': JSON.stringify(SECRET).replaceAll('/', '\\/'),
  'escaped units': units(code => `\\u00${code}`),
  'escaped units in upper case': units(code => `\\u00${code.toUpperCase()}`),
  'one escaped unit': SECRET.replace('m', '\\u006d'),
  percent: units(code => `%${code}`),
  'percent in upper case': units(code => `%${code.toUpperCase()}`),
  'percent twice': units(code => `%25${code.toUpperCase()}`),
  'one percent': SECRET.replace('m', '%6D'),
  'percent and an escape': SECRET.replace('m', '%6D').replace('/', '\\/'),
  uri: encodeURIComponent(SECRET),
  'in upper case': SECRET.toUpperCase(),
  'numeric entities': units(code => `&#${parseInt(code, 16)};`),
  'hexadecimal entities': units(code => `&#x${code};`),
  'entities within entities': units(code => `&amp;#x${code.toUpperCase()};`),
  'entities as Go writes them in JSON': units(code => `\\u0026#${parseInt(code, 16)};`),
  'named entities': SECRET.replaceAll('"', '&quot;').replace('>', '&gt;').replace('/', '&sol;'),
  'hexadecimal escapes': units(code => `\\x${code}`),
  'hexadecimal escapes in upper case': units(code => `\\x${code.toUpperCase()}`),
  'backslashes before signs': SECRET.replaceAll(/\W/g, '\\$&'),
  hex: BYTES.toString('hex'),
  'hex in upper case': BYTES.toString('hex').toUpperCase(),
  ...Object.fromEntries(
    [0, 1, 2].flatMap(before => [
      [`base64 behind ${before} bytes`, behind(before).toString('base64')],
      [`url-safe base64 behind ${before} bytes`, behind(before).toString('base64url')],
      [
        `base64 behind ${before} bytes and before others`,
        Buffer.concat([behind(before), Buffer.from('tail')]).toString('base64'),
      ],
    ]),
  ),
}

/** At least so much of a form must be gone; base64 keeps what it shares with its neighbours. */
const isGone = (text: string, form: string): boolean => !text.includes(form.slice(4, -4))

const FILL = 'a plain text of 32 characters … \n'
const LONG = FILL.repeat(20_000)

t.test('the key is cut in every form, from short and long texts', async t => {
  const forms = new CredentialForms(SECRET)
  for (const [name, form] of Object.entries(FORMS))
    for (const [before, after] of [
      ['', ''],
      ['before ', ' behind'],
      [LONG, LONG],
      // Marks that begin no form.
      [`${LONG}100 % \\" \\n \\u0041`, `%\\u00e9${LONG}`],
    ] as const) {
      const cut = await forms.cutFrom(Buffer.from(before + form + after), 'REDACTED')
      const text = cut.toString()
      t.ok(isGone(text, form), `${name}, ${before.length} characters before it`)
      t.ok(text.includes('REDACTED') && text.startsWith(before) && text.endsWith(after), name)
    }
})

t.test('nothing else is cut', async t => {
  const forms = new CredentialForms(SECRET)
  for (const text of ['', '{"a":"100 % \\u0041"}', `${LONG}%\\u0041${LONG}`, SECRET.slice(1)]) {
    const bytes = Buffer.from(text)
    t.equal(await forms.cutFrom(bytes, 'REDACTED'), bytes, 'the same bytes')
  }
  const noise = randomBytes(600_000)
  t.equal(await forms.cutFrom(noise, 'REDACTED'), noise)
  const none = new CredentialForms('')
  t.equal(await none.cutFrom(noise, 'REDACTED'), noise)
})

/** Sends a body one half of a form in each chunk. */
const chunked =
  (before: string, form: string): Script =>
  socket => {
    const half = Math.floor(form.length / 2)
    const chunks = [before + form.slice(0, half), form.slice(half)]
    const write = (chunk: string): boolean =>
      socket.write(`${Buffer.byteLength(chunk).toString(16)}\r\n${chunk}\r\n`)
    socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n')
    write(chunks[0] ?? '')
    // In a packet of its own.
    setTimeout(() => {
      write(chunks[1] ?? '')
      socket.write('0\r\n\r\n')
    }, 5)
  }

t.test('no form comes back in a body, in chunks or in a header', async t => {
  let script: Script = () => {}
  const raw = await openRawUpstream(t, (socket, request) => script(socket, request))
  const { send } = await openUpstream(t, [raw.url], {
    credential: new Secret(SECRET),
    credentialIn: 'query',
    credentialName: 'key',
  })
  for (const [name, form] of Object.entries(FORMS)) {
    const lines = [`Content-Type: text/plain; key=${form}`, `Retry-After: ${form}`]
    const scripts: readonly Script[] = [
      socket => socket.write(answer(form, { lines: [] })),
      chunked('before ', form),
      socket => socket.write(answer('', { lines: [...lines, `X-Key: ${form}`] })),
    ]
    for (script of scripts) {
      const reply = await send('{}')
      if (reply instanceof UpstreamFailure) throw reply
      const { body, contentType, headers } = reply
      const whole = `${body.toString()} ${contentType} ${JSON.stringify(headers)}`
      t.ok(isGone(whole, form), `${name}: ${whole}`)
      t.match(whole, /redacted/i, name)
    }
  }
})
