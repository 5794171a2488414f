import type { ForwardEvents } from '../lander/forwarder.js'
import { sendOnce, type OnceParts } from '../lander/send-once.js'
import type { Answers, LanderRequest } from '../link/messages.js'
import type { MayStart } from '../relay/relay-types.js'
import type { Race } from './race.js'

const NO_TERMS = { isProtected: true, paid: [] } as const

/** Races the transactions of one network. */
export class RaceForwarder {
  private readonly race: Race
  private readonly parts: OnceParts

  constructor(race: Race, parts: OnceParts) {
    this.race = race
    this.parts = parts
  }

  forward(
    request: LanderRequest,
    mayStart: MayStart,
    { onRecord }: ForwardEvents,
  ): Promise<Answers['forward']> {
    const { body, from, race: terms = NO_TERMS, signature = '' } = request
    const { buffer, byteOffset, byteLength } = body
    const bytes = Buffer.from(buffer, byteOffset, byteLength)
    return sendOnce(request, { ...this.parts, onRecord, mayStart }, record =>
      this.race.run({
        transaction: { bytes, signature },
        terms,
        accessId: from.accessId,
        onStart: lanes => record.onSent(lanes),
        onEnded: lanes => record.onLanes(lanes),
      }),
    )
  }
}
