import * as v from 'valibot'
import { described, port, text, otherPort } from '../validators/options-schema.js'
import { filePath, host, id, origin } from '../validators/validators.js'

/** Certificates of one listener, each with a context of its own in every edge. */
const CERTIFICATES_MAX = 32

// Reading them finds out whether they are there.
const pemFile = filePath(text('a file'), 'made')

const certificate = {
  certFile: described(
    pemFile,
    'PEM of the certificate, followed by those that it was issued by. A change is used within 10 s.',
  ),
  keyFile: described(pemFile, 'PEM of its key, readable by the user of the service only.'),
}

const tls = v.strictObject({
  ...certificate,
  sni: described(
    v.optional(
      v.pipe(
        v.array(v.strictObject(certificate)),
        v.maxLength(CERTIFICATES_MAX - 1, `at most ${CERTIFICATES_MAX - 1} certificates`),
      ),
      [],
    ),
    'Further certificates. A client that names a host (SNI) gets the first one that is valid for it.',
  ),
})

const listener = v.strictObject({
  host: described(host, 'Address to listen on.'),
  port: described(port, 'Port to listen on.'),
  quicPort: described(
    v.optional(otherPort),
    'UDP port of the same address for transactions over QUIC, with the first certificate of tls; absent is none.',
  ),
  grpcPort: described(
    v.optional(otherPort),
    'Port of the same address for Yellowstone gRPC, with tls as this listener; absent is none.',
  ),
  tls: described(v.optional(tls), 'The listener speaks TLS 1.2 or 1.3 only; absent is plain HTTP.'),
})

/** A location to which clients connect. */
export const location = v.strictObject({
  id: described(id, 'Name of the location. Its tokens are valid for no other.'),
  name: described(text(), 'Display name.'),
  publicUrl: described(
    v.optional(origin),
    'Base of the location’s URLs for clients; absent is its first listener, by https if it has tls.',
  ),
  streamingTargets: described(
    v.optional(
      v.array(
        v.strictObject({
          name: described(text(), 'Display name.'),
          url: described(text('a URL'), 'Shown as it is.'),
          authentication: described(
            v.optional(text()),
            'How clients authenticate there, such as `x-token: the location token`; shown as it is.',
          ),
        }),
      ),
      [],
    ),
    'Further services of the location, shown with its URLs.',
  ),
  listeners: described(
    v.pipe(v.array(listener), v.minLength(1, 'at least one listener')),
    'Where requests for this location arrive.',
  ),
})
