#include "certificates.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace slotline {

template <auto Free> struct Release {
    template <typename T> void operator()(T *object) const { Free(object); }
};
using Bio = std::unique_ptr<BIO, Release<BIO_free>>;
using Certificate = std::unique_ptr<X509, Release<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;

/** Forward secrecy and authenticated encryption only; those of TLS 1.3 are all such. */
static constexpr const char *CIPHERS_OF_TLS_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";

static Bio readerOf(std::string_view text) {
    return Bio(BIO_new_mem_buf(text.data(), (int) text.length()));
}

/** A key with a password is refused; OpenSSL would ask the terminal for it. */
static int refusePassword(char *, int, int, void *) { return -1; }

static bool useChain(SSL_CTX *context, std::string_view text) {
    Bio reader = readerOf(text);
    Certificate own(PEM_read_bio_X509(reader.get(), nullptr, refusePassword, nullptr));
    if (own == nullptr || SSL_CTX_use_certificate(context, own.get()) != 1) return false;
    while (Certificate issuer{PEM_read_bio_X509(reader.get(), nullptr, refusePassword, nullptr)})
        if (SSL_CTX_add1_chain_cert(context, issuer.get()) != 1) return false;
    // That there is no further one is no failure.
    ERR_clear_error();
    return true;
}

static bool useKey(SSL_CTX *context, std::string_view text) {
    Bio reader = readerOf(text);
    Key key(PEM_read_bio_PrivateKey(reader.get(), nullptr, refusePassword, nullptr));
    return key != nullptr && SSL_CTX_use_PrivateKey(context, key.get()) == 1 &&
           SSL_CTX_check_private_key(context) == 1;
}

/** HTTP/1.1 for clients that name protocols; those that name others only are refused. */
static int selectProtocol(SSL *, const unsigned char **selected, unsigned char *selectedLength,
                          const unsigned char *offered, unsigned offeredLength, void *) {
    static constexpr unsigned char KNOWN[] = "\x08http/1.1";
    int result = SSL_select_next_proto(const_cast<unsigned char **>(selected), selectedLength, KNOWN,
                                       sizeof(KNOWN) - 1, offered, offeredLength);
    return result == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

/** The first certificate that is valid for the host that the client names. */
static int selectCertificate(SSL *ssl, int *, void *) {
    const char *host = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    if (host == nullptr) return SSL_TLSEXT_ERR_NOACK;
    const auto *set = static_cast<const CertificateSet *>(SSL_get_app_data(ssl));
    for (const Context &context : set->contexts) {
        X509 *certificate = SSL_CTX_get0_certificate(context.get());
        if (X509_check_host(certificate, host, 0, 0, nullptr) != 1) continue;
        if (context != set->contexts.front()) SSL_set_SSL_CTX(ssl, context.get());
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
}

static bool configure(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                     SSL_OP_IGNORE_UNEXPECTED_EOF);
    // A read ends after each record that is no data, which bounds it.
    SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
    // An idle connection keeps no buffers, of 34 KiB.
    SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_read_ahead(context, 1);
    // Sessions are resumed by tickets, which take no memory here.
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(context, selectProtocol, nullptr);
    SSL_CTX_set_tlsext_servername_callback(context, selectCertificate);
    return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
           SSL_CTX_set_cipher_list(context, CIPHERS_OF_TLS_1_2) == 1;
}

Context createContext(std::string_view chain, std::string_view key, std::string &reason) {
    ERR_clear_error();
    Context context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
    if (context != nullptr && configure(context.get()) && useChain(context.get(), chain) &&
        useKey(context.get(), key))
        return context;
    const char *text = ERR_reason_error_string(ERR_peek_error());
    reason = text == nullptr ? "no certificate and key in PEM" : text;
    ERR_clear_error();
    return nullptr;
}

} // namespace slotline
