import { inspect } from 'node:util'
import t from 'tap'
import { Secret } from '../../src/shared/secret.js'

const TEXT = 'canary'
const secret = new Secret(TEXT)
t.equal(secret.reveal(), TEXT)
const printed: [name: string, text: string][] = [
  ['inspect', inspect({ secret }, { showHidden: true, depth: 9 })],
  ['JSON', JSON.stringify({ secret })],
  ['a template', `${secret}`],
  ['a copy', JSON.stringify({ ...secret })],
  ['an error', String(new Error(`x ${secret}`))],
  ['its keys', Reflect.ownKeys(secret).map(String).join()],
]
for (const [name, text] of printed) t.notMatch(text, TEXT, name)
t.equal(JSON.stringify(secret), '"[redacted]"')
