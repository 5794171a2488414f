/** Text that a spreadsheet would take for a formula. */
const FORMULA = /^[=+\-@\t\r]/

/** A field of RFC 4180. One that a spreadsheet would take for a formula begins with `'`. */
const toField = (value: string | number): string => {
  if (typeof value === 'number') return String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A line of a CSV file (RFC 4180), with its end. */
export const toCsvLine = (fields: readonly (string | number)[]): string =>
  `${fields.map(toField).join(',')}\r\n`
