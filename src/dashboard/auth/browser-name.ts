type Names = readonly (readonly [pattern: RegExp, name: string])[]

/** Most names contain those of others, so the order matters. */
const BROWSERS: Names = [
  [/\bEdg(?:A|iOS)?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\bSamsungBrowser\//, 'Samsung Internet'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:HeadlessChrome|Chromium|Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
]

const SYSTEMS: Names = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bCrOS\b/, 'ChromeOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac(?:intosh| OS X)\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
]

/** The names that matter are at the start. */
const CHARS_MAX = 512

const nameIn = (names: Names, text: string): string | undefined =>
  names.find(([pattern]) => pattern.test(text))?.[1]

/** Names browser and system of a `User-Agent` header: `Firefox on Linux`; empty if unknown. */
export const toBrowserName = (userAgent: string): string => {
  const text = userAgent.slice(0, CHARS_MAX)
  const [browser, system] = [nameIn(BROWSERS, text), nameIn(SYSTEMS, text)]
  if (browser === undefined) return system ?? ''
  return system === undefined ? browser : `${browser} on ${system}`
}
