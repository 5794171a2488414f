import { method } from '../method.js'
import { programConfig, pubkey } from '../params.js'
import { PAGE } from '../schemas.js'

/** One page of a program's accounts, in ascending order of their keys' bytes. */
export const getProgramAccountsV2 = method({
  name: 'getProgramAccountsV2',
  summary: 'One page of a program’s accounts, in ascending order of their address bytes.',
  bound: 'budget',
  params: [pubkey, programConfig],
  result: PAGE,
  run: (reads, program, page) => reads.programPage({ program, ...page }),
})
