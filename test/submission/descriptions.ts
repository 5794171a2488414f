import { readFileSync, writeFileSync } from 'node:fs'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t from 'tap'
import type { MethodDescription } from '../../src/shared/describe/method-description.js'
import {
  LANDER_METHODS,
  RELAY_METHODS,
  SOCKET_SUBMISSIONS,
} from '../../src/submission/descriptions.js'
import { toSubmissionOpenApi } from '../fixtures/docs/submission-openapi.js'
import { RELAY_ROUTES, SUBMISSION_ROUTES } from '../../src/submission/store/submission.js'
import { repositoryPath } from '../fixtures/repository.js'
import { openTestLander } from '../fixtures/submission/lander.js'
import { answer, openRawUpstream } from '../fixtures/submission/raw-upstream.js'
import { accepted } from '../fixtures/submission/relay-engine.js'
import { openMachine, post } from '../fixtures/submission/relay.js'

type Schema = Readonly<Record<string, unknown>>
type Content = {
  readonly 'application/json': { readonly schema: Schema; readonly example?: object }
}
type Operation = {
  readonly requestBody: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}

const FILE = repositoryPath('docs/submission-openapi.json')
// As JSON: without absent members.
const document = JSON.parse(JSON.stringify(toSubmissionOpenApi())) as {
  readonly paths: Readonly<Record<string, { readonly post: Operation }>>
}
const ajv = new Ajv2020({ strict: false, formats: { uuid: /^[0-9a-f-]{36}$/, binary: true } })

const operationOf = (route: string): Operation => {
  const operation = document.paths[route]?.post
  if (operation === undefined) throw new Error(`${route} is not described`)
  return operation
}
const bodyOf = ({ name, example }: MethodDescription): string =>
  JSON.stringify({ jsonrpc: '2.0', id: 1, method: name, params: example?.params })

/** Methods whose results depend on the configuration. */
const CONFIGURED = new Set(['getTipAccounts', 'getServiceTipConfig'])

t.test('the document describes each route, and is the copy in docs', async t => {
  t.strictSame(Object.keys(document.paths), [...SUBMISSION_ROUTES])
  // Formatted by prettier, because the format check reads this file, too.
  const printed = `${JSON.stringify(document, null, 2)}\n`
  if (process.env['SLOTLINE_DOCS'] === 'write') writeFileSync(FILE, printed)
  t.equal(
    readFileSync(FILE, 'utf8'),
    printed,
    'regenerate it: SLOTLINE_DOCS=write npx tap run test/submission/descriptions.ts',
  )
})

t.test('examples of relay routes are answered as shown', async t => {
  const statuses = RELAY_METHODS['/relay-bundle'].find(({ name }) => name === 'getBundleStatuses')
  const told = JSON.stringify({ jsonrpc: '2.0', result: statuses?.example?.result, id: 1 })
  const engine = await openRawUpstream(t, (socket, { body }) =>
    socket.write(answer(body.includes('"sendBundle"') ? accepted(body) : told)),
  )
  const { edges } = await openMachine(t, { urls: [engine.url] })
  for (const route of RELAY_ROUTES) {
    const { requestBody, responses } = operationOf(route)
    for (const method of RELAY_METHODS[route]) {
      const { name, example, result } = method
      const body = bodyOf(method)
      const request = requestBody.content['application/json'].schema
      t.ok(ajv.validate(request, JSON.parse(body)), `${route} ${name}: ${ajv.errorsText()}`)
      const { json } = await post(edges[0].port, route, body)
      if (CONFIGURED.has(name)) t.ok(ajv.validate(result, json.result), name)
      else t.strictSame(json.result, example?.result, `${route} ${name}`)
      const reply = responses['200']?.content?.['application/json'].schema ?? {}
      t.ok(ajv.validate(reply, json), `${route} ${name}: ${ajv.errorsText()}`)
    }
    const wrong = await post(edges[0].port, route, '{"jsonrpc":"2.0","id":1,"method":"sendBundle"}')
    const reply = responses['200']?.content?.['application/json'].schema ?? {}
    t.ok(ajv.validate(reply, wrong.json), 'an error is described, too')
  }
})

t.test('examples of lander routes are forwarded and answered as shown', async t => {
  for (const [route, method] of Object.entries(LANDER_METHODS)) {
    const told = JSON.stringify({ jsonrpc: '2.0', result: method.example.result, id: 1 })
    const { post, raw } = await openTestLander(t, s => s.write(answer(told)))
    const { requestBody, responses } = operationOf(route)
    const body = bodyOf(method)
    t.ok(ajv.validate(requestBody.content['application/json'].schema, JSON.parse(body)), route)
    const { text } = await post(route, body)
    t.equal(text, told)
    t.equal(raw.received.length, 1)
    const reply = responses['200']?.content?.['application/json'].schema ?? {}
    t.ok(ajv.validate(reply, JSON.parse(text)), ajv.errorsText())
  }
})

t.test('a WebSocket has the methods of each relay route under its name', async t => {
  t.strictSame(
    SOCKET_SUBMISSIONS.map(({ name }) => name),
    [
      'sendTransaction',
      ...RELAY_ROUTES.flatMap(route =>
        RELAY_METHODS[route].map(({ name }) => `${route.slice(1)}.${name}`),
      ),
    ],
  )
})
