import { RpcError } from '../shared/errors.js'
import { decodePubkey } from '../native/encoding.js'
import type { OwnerPage } from '../native/reads.js'
import { TOKEN_2022_PROGRAM, TOKEN_PROGRAM } from '../shared/token-programs.js'
import { onlyMember, toMap, toText } from '../shared/values.js'
import { required } from './method.js'
import { TOKEN_FILTER } from '../shared/describe/schemas.js'

/** The two token programs, as the native addon numbers them. */
const TOKEN_PROGRAMS: ReadonlyMap<string, 1 | 2> = new Map([
  [TOKEN_PROGRAM, 1],
  [TOKEN_2022_PROGRAM, 2],
])

/** The filter of getTokenAccountsByOwnerV2: one mint, or one of the token programs. */
export const tokenFilter = required(
  'filter',
  (value, index): OwnerPage['filter'] => {
    const [name, content] = onlyMember(toMap(value, index)) ?? []
    if (name === 'mint') return { mint: decodePubkey(toText(content, index)) }
    if (name !== 'programId') throw new RpcError('filterKeys')
    const programId = toText(content, index)
    const tokenProgram = TOKEN_PROGRAMS.get(programId)
    if (tokenProgram !== undefined) return { tokenProgram }
    // An invalid address has a separate error, which takes precedence.
    decodePubkey(programId)
    throw new RpcError('tokenProgramId')
  },
  TOKEN_FILTER,
  ['filterKeys', 'tokenProgramId', 'pubkeyDecode', 'pubkeySize'],
)
