import * as v from 'valibot'
import { described, text } from '../shape-parts.js'
import { accesses } from '../shapes.js'

export const access = v.object({
  access: accesses.entries.accesses.item,
  subject: described(text, 'The `sub` of its holder at the identity provider'),
  label: described(text, 'What operators call it; empty: nothing'),
  hasMachines: described(v.boolean(), 'Whether the service is a cluster'),
})
