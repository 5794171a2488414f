/** Formats a duration in seconds, minutes, or hours and minutes. */
export const formatDuration = (seconds: number): string => {
  const whole = Math.ceil(seconds)
  if (whole < 120) return `${whole} s`
  const minutes = Math.ceil(whole / 60)
  return minutes < 120 ? `${minutes} min` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
