import { escapeHtml } from '../http/error-page.js'
import type { Condition, Status } from './shapes.js'

const NAMES: Readonly<Record<Condition, string>> = {
  operational: 'Operational',
  degraded: 'Degraded',
  down: 'Not serving',
}

const SECONDS = 1_000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

/** `2026-11-28 12:00 UTC`. */
const toMoment = (atMs: number): string =>
  `<time datetime="${new Date(atMs).toISOString()}">${new Date(atMs).toISOString().slice(0, 16).replace('T', ' ')} UTC</time>`

const toSpan = (ms: number): string => {
  if (ms < MINUTE_MS) return `${Math.ceil(ms / SECONDS)} s`
  if (ms < HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`
  return `${(ms / HOUR_MS).toFixed(1)} h`
}

const titleOf = ({ locations }: Status): string => {
  if (locations.every(({ state }) => state === 'operational'))
    return 'All locations are operational'
  return locations.every(({ state }) => state === 'down')
    ? 'No location serves'
    : 'Some locations are degraded'
}

const badge = (state: Condition): string => `<span class="badge is-${state}">${NAMES[state]}</span>`

const toLag = ({
  name,
  slotsBehindMax,
}: Status['locations'][number]['networks'][number]): string =>
  slotsBehindMax === null
    ? escapeHtml(name)
    : `${escapeHtml(name)}: ${slotsBehindMax === 0 ? 'at the tip' : `up to ${slotsBehindMax} slots behind`}`

const toLocation = ({
  name,
  state,
  networks,
  uptimePercent,
}: Status['locations'][number]): string => `
          <tr>
            <th scope="row">${escapeHtml(name)}</th>
            <td>${badge(state)}</td>
            <td data-label="Networks">${networks.map(toLag).join('<br>')}</td>
            <td data-label="Uptime">${uptimePercent} %</td>
          </tr>`

const toIncident = (
  { location, state, startedAtMs, endedAtMs }: Status['incidents'][number],
  { locations, atMs }: Status,
): string => {
  const name = locations.find(({ id }) => id === location)?.name ?? location
  const end = endedAtMs === null ? 'it lasts' : `to ${toMoment(endedAtMs)}`
  return `
        <li>${badge(state)} <strong>${escapeHtml(name)}</strong> ${toMoment(startedAtMs)} ${end}, for ${toSpan((endedAtMs ?? atMs) - startedAtMs)}</li>`
}

/** The status of the service as a page. It needs no script, and nothing in it is inline. */
export const toStatusPage = (status: Status): string => {
  const { atMs, sinceMs, locations, incidents } = status
  const title = titleOf(status)
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="dark light">
    <title>${title} · Slotline</title>
    <link rel="icon" type="image/svg+xml" href="/mark.svg">
    <link rel="stylesheet" href="/error.css">
    <link rel="stylesheet" href="/status.css">
  </head>
  <body>
    <main>
      <p class="brand"><img src="/mark.svg" alt="" width="28" height="28"> Slotline</p>
      <h1>${title}</h1>
      <p class="status">As of ${toMoment(atMs)}. Uptime and incidents since ${toMoment(sinceMs)}.</p>
      <table>
        <thead>
          <tr>
            <th scope="col">Location</th>
            <th scope="col">State</th>
            <th scope="col">Networks</th>
            <th scope="col">Uptime</th>
          </tr>
        </thead>
        <tbody>${locations.map(toLocation).join('')}
        </tbody>
      </table>
      <h2>Incidents</h2>${
        incidents.length === 0
          ? '\n      <p class="status">No incidents recorded.</p>'
          : `
      <ul>${incidents.map(incident => toIncident(incident, status)).join('')}
      </ul>`
      }
      <p class="status">Also as JSON: <a class="plain" href="/status.json">status.json</a></p>
    </main>
  </body>
</html>
`
}
