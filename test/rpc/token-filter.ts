import t from 'tap'
import { tokenFilter } from '../../src/rpc/token-filter.js'
import { attempt } from '../fixtures/attempt.js'

const KEY = '11111111111111111111111111111112'
const KEYS = '-32602 Invalid param at index 1: invalid value: map, expected map with a single key'
const PROGRAM =
  '-32602 Error getting token program id and mint: Invalid param: unrecognized Token program id'
const zeros = (count: number) => new Array<number>(count).fill(0)

const TOKEN = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const TOKEN_2022 = 'TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb'
const wrong = (type: string, expected: string) =>
  `-32602 Invalid param at index 1: invalid type: ${type}, expected ${expected}`

const owners: [json: string, filter: unknown][] = [
  [`{"mint":"${KEY}"}`, { mint: [...zeros(31), 1] }],
  [`{"programId":"${TOKEN}"}`, { tokenProgram: 1 }],
  [`{"programId":"${TOKEN_2022}"}`, { tokenProgram: 2 }],
  ['', '-32602 Missing param at index 1'],
  ['null', wrong('null', 'a map')],
  ['"x"', wrong('string "x"', 'a map')],
  ['[]', wrong('sequence', 'a map')],
  ['{}', KEYS],
  [`{"mint":"${KEY}","programId":"${TOKEN}"}`, KEYS],
  [`{"mint":"${KEY}","programId":null}`, KEYS],
  [`{"foo":"${KEY}"}`, KEYS],
  [`{"__proto__":"${KEY}"}`, KEYS],
  ['{"mint":5}', wrong('integer `5`', 'a string')],
  ['{"mint":null}', wrong('null', 'a string')],
  ['{"mint":"0"}', '-32602 Invalid param: could not decode pubkey 0'],
  ['{"mint":"abc"}', '-32602 Invalid param: WrongSize'],
  ['{"programId":true}', wrong('boolean `true`', 'a string')],
  ['{"programId":"l"}', '-32602 Invalid param: could not decode pubkey l'],
  ['{"programId":"abc"}', '-32602 Invalid param: WrongSize'],
  [`{"programId":"${KEY}"}`, PROGRAM],
]
for (const [json, filter] of owners)
  t.test(`token filter ${json}`, async t => {
    const value: unknown = json === '' ? undefined : JSON.parse(json)
    const answer = attempt(() => {
      const checked = tokenFilter.check(value, 1)
      return 'mint' in checked ? { mint: [...checked.mint] } : checked
    })
    t.strictSame(answer, filter)
  })
