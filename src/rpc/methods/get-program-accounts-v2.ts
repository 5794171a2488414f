import { method } from '../method.js'
import { programConfig, pubkey } from '../params.js'

/** One page of a program's accounts, in ascending order of their keys' bytes. */
export const getProgramAccountsV2 = method({
  name: 'getProgramAccountsV2',
  summary: 'One page of a program’s accounts, in ascending order of their address bytes.',
  bound: 'budget',
  params: [pubkey, programConfig],
  run: (reads, program, page) => reads.programPage({ program, ...page }),
})
