import type { Answer } from './route.js'

/** What a request says of the answer that it wants. */
type Asked = {
  readonly method: string
  readonly path: string
  /** The `Accept` header; empty if it is absent. */
  readonly accept: string
}

type Words = { readonly title: string; readonly advice: string }

const OTHER: Words = {
  title: 'This request failed',
  advice: 'Go back to the dashboard and try again.',
}

const WORDS: Readonly<Record<number, Words>> = {
  404: {
    title: 'There is no such page',
    advice: 'The address may be misspelt, or the page was moved.',
  },
  429: {
    title: 'Too many attempts',
    advice: 'Wait for a moment, then try again.',
  },
  500: {
    title: 'Something went wrong',
    advice:
      'Try again in a moment. If it happens again, tell the operator of this service when it did.',
  },
  503: {
    title: 'Not available at the moment',
    advice: 'Try again in a moment.',
  },
}

/** Clients of the API, also those that accept everything, get JSON. */
const isApi = (path: string): boolean => /^\/(api|admin)(\/|$)/.test(path)

const acceptsHtml = (accept: string): boolean =>
  accept
    .split(',')
    .map(part => part.split(';').map(word => word.trim().toLowerCase()))
    .some(
      ([type, ...params]) => type === 'text/html' && !params.some(one => /^q=0(\.0*)?$/.test(one)),
    )

/** Whether a browser shows the answer as a page. */
export const wantsPage = ({ method, path, accept }: Asked): boolean =>
  (method === 'GET' || method === 'HEAD') && !isApi(path) && acceptsHtml(accept)

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escapeHtml = (text: string): string =>
  text.replace(/[&<>"']/g, found => ESCAPES[found] ?? '')

/** A failure as a page. It needs no script, and nothing in it is inline. */
export const toErrorPage = ({ status, body }: Pick<Answer, 'status' | 'body'>): string => {
  const { title, advice } = WORDS[status] ?? OTHER
  const { error } = Object(body) as { readonly error?: { readonly message?: unknown } }
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="dark light">
    <meta name="robots" content="noindex">
    <title>${title} · Slotline</title>
    <link rel="icon" type="image/svg+xml" href="/mark.svg">
    <link rel="stylesheet" href="/error.css">
  </head>
  <body>
    <main>
      <p class="brand"><img src="/mark.svg" alt="" width="28" height="28"> Slotline</p>
      <p class="status">Error ${status}</p>
      <h1>${title}</h1>
      <p>${advice}</p>
      <p class="detail">${escapeHtml(String(error?.message ?? ''))}</p>
      <p><a href="/">Go to the dashboard</a></p>
    </main>
  </body>
</html>
`
}
