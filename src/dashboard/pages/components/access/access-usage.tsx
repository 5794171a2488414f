import { FailuresCard } from '../failures/failures-card.js'
import { AccessIncidents } from '../incidents/incidents-card.js'
import { LimitsCard } from '../usage/limits-card.js'
import { OverLimitCard } from '../usage/refused-by-limit.js'
import { RangeCards } from '../usage/range-cards.js'
import { useAccessSource } from '../../hooks/use-usage-range.js'
import { useTarget } from '../../hooks/use-target.js'
import { useQuery } from '../../lib/route.js'
import { useState } from 'preact/hooks'
import type { Access } from '../../lib/wire.js'

/** Usage of all networks and locations of an access, its limits, failed requests and incidents. */
export const AccessUsage = ({ access }: { readonly access: Access }) => {
  const [query, setQuery] = useQuery()
  const [isLoaded, setLoaded] = useState(false)
  useTarget(isLoaded)
  const showFailures = (code: string): void => {
    setQuery({ ...query, code })
    document.getElementById('failures-heading')?.scrollIntoView()
  }
  const source = useAccessSource(access.accessId)
  return (
    <div class="stack is-columns">
      <LimitsCard access={access} />
      <RangeCards source={source} onCode={showFailures} onLoaded={() => setLoaded(true)}>
        {usage => <OverLimitCard limits={access.limits} refused={usage?.overLimit} />}
      </RangeCards>
      <FailuresCard access={access} />
      <AccessIncidents access={access} />
    </div>
  )
}
