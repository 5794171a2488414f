// The certificates of a listener, ready for handshakes.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace slotline {

/** A certificate with its chain, its key, and what connections with it may use. */
using Context = std::shared_ptr<SSL_CTX>;

struct CertificateSet {
    /** The first is for clients that name a host of none. */
    std::vector<Context> contexts;
    /** The answer to a request without TLS. */
    std::string plainReply;
};

/** A connection keeps those that it began with. */
using Certificates = std::shared_ptr<const CertificateSet>;

/**
 * A context of a certificate and a key in PEM; the certificate is followed by those that it was
 * issued by. Null where OpenSSL refuses them; `reason` then has its words.
 */
Context createContext(std::string_view chain, std::string_view key, std::string &reason);

} // namespace slotline

struct slotline_tls_listener {
    slotline::Certificates certificates;
};
