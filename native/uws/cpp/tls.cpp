#include "tls.h"
#include "certificates.h"
#include "closed.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include <sys/socket.h>

/** Records that one read decrypts: one may hold a single byte, or ask for new keys. */
static constexpr int RECORDS_PER_READ = 32;
/**
 * Steps of OpenSSL in a row that read no data, after the handshake; a peer that causes more is
 * closed. New keys take one, and two where new ones of ours are requested too; keys are enough for
 * 2^24 records of data.
 */
static constexpr int STEPS_WITHOUT_DATA_MAX = 64;
/** Plain bytes of a record. */
static constexpr int RECORD_BYTES = 16 * 1024;
/** Bytes that one write encrypts, about 0.3 ms; the rest is written in a later turn. */
static constexpr int WRITE_BYTES = 512 * 1024;
/** A peer that takes less is closed: these are answers to its handshake messages only. */
static constexpr size_t UNSENT_BYTES_MAX = 128 * 1024;

struct slotline_tls {
    SSL *ssl;
    int descriptor;
    /** Kept for the handshake: the listener may get others, or close. */
    slotline::Certificates certificates;
    /** Encrypted bytes that the system has not taken. Empty but while the peer takes too little. */
    std::string unsent;
    /** One read receives once, so what it decrypts is bounded. */
    bool mayReceive = false;
    /** OpenSSL wanted more bytes than were received. */
    bool isDry = false;
    bool hasEnded = false;
    bool hasUnread = false;
    int stepsWithoutData = 0;
};

namespace slotline {

static slotline_tls *connectionOf(BIO *bio) { return static_cast<slotline_tls *>(BIO_get_data(bio)); }

static int receive(BIO *bio, char *data, int length) {
    slotline_tls *tls = connectionOf(bio);
    BIO_clear_retry_flags(bio);
    if (tls->mayReceive) {
        tls->mayReceive = false;
        ssize_t received = recv(tls->descriptor, data, (size_t) length, 0);
        if (received > 0) return (int) received;
        // An end without notice is kept from OpenSSL, which would not write any more.
        tls->hasEnded = received == 0;
        if (received == -1 && errno != EAGAIN && errno != EINTR) return -1;
    }
    tls->isDry = true;
    BIO_set_retry_read(bio);
    return -1;
}

/** Sends what the system takes; returns how much, or -1 where the connection has broken. */
static ssize_t sendNow(const slotline_tls *tls, const char *data, size_t length) {
    ssize_t sent = send(tls->descriptor, data, length, MSG_NOSIGNAL);
    return sent == -1 && (errno == EAGAIN || errno == EINTR) ? 0 : sent;
}

/** Takes every record, so that OpenSSL never has to be given the same bytes a second time. */
static int transmit(BIO *bio, const char *data, int length) {
    slotline_tls *tls = connectionOf(bio);
    BIO_clear_retry_flags(bio);
    ssize_t sent = tls->unsent.empty() ? sendNow(tls, data, (size_t) length) : 0;
    if (sent == -1) return -1;
    size_t rest = (size_t) (length - sent);
    if (tls->unsent.length() + rest > UNSENT_BYTES_MAX) {
        slotline_count_closed(SLOTLINE_RECORDS);
        return -1;
    }
    tls->unsent.append(data + sent, rest);
    return length;
}

static long control(BIO *, int command, long, void *) {
    return command == BIO_CTRL_FLUSH;
}

/** The descriptor of a connection, as OpenSSL reads and writes it. */
static const BIO_METHOD *descriptorMethod() {
    static BIO_METHOD *const method = [] {
        BIO_METHOD *made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "slotline");
        if (made == nullptr) return made;
        BIO_meth_set_read(made, receive);
        BIO_meth_set_write(made, transmit);
        BIO_meth_set_ctrl(made, control);
        return made;
    }();
    return method;
}

} // namespace slotline

using namespace slotline;

slotline_tls *slotline_tls_accept(slotline_tls_listener *listener, int descriptor) {
    ERR_clear_error();
    SSL *ssl = SSL_new(listener->certificates->contexts.front().get());
    const BIO_METHOD *method = descriptorMethod();
    BIO *bio = method == nullptr ? nullptr : BIO_new(method);
    if (ssl == nullptr || bio == nullptr) {
        SSL_free(ssl);
        BIO_free(bio);
        return nullptr;
    }
    auto *tls = new slotline_tls{ssl, descriptor, listener->certificates, {}};
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    // Read by `selectCertificate`.
    SSL_set_app_data(ssl, const_cast<CertificateSet *>(tls->certificates.get()));
    SSL_set_accept_state(ssl);
    return tls;
}

/** Has the peer read why it failed: with bytes unread, the system would reset the connection. */
static void refuse(const slotline_tls *tls) {
    const std::string &reply = tls->certificates->plainReply;
    if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST)
        sendNow(tls, reply.data(), reply.length());
    char dropped[RECORD_BYTES];
    recv(tls->descriptor, dropped, sizeof(dropped), 0);
}

/** The end or a failure, which OpenSSL returned in place of data. */
static int readEnd(slotline_tls *tls, int taken, int error) {
    // What came before it is handled first; the next read returns it again.
    tls->hasUnread = taken > 0;
    if (taken > 0) return taken;
    if (error == SSL_ERROR_ZERO_RETURN) return 0;
    refuse(tls);
    ERR_clear_error();
    errno = ECONNABORTED;
    return -1;
}

int slotline_tls_read(slotline_tls *tls, char *data, int length) {
    ERR_clear_error();
    tls->mayReceive = true;
    int taken = 0;
    for (int records = 0; records < RECORDS_PER_READ && taken < length; records++) {
        tls->isDry = false;
        int count = SSL_read(tls->ssl, data + taken, length - taken);
        if (count > 0) {
            taken += count;
            tls->stepsWithoutData = 0;
            if (!SSL_has_pending(tls->ssl)) break;
            continue;
        }
        int error = SSL_get_error(tls->ssl, count);
        if (error != SSL_ERROR_WANT_READ) return readEnd(tls, taken, error);
        // Else a record was read that is no data.
        if (tls->isDry) break;
        if (SSL_is_init_finished(tls->ssl) && ++tls->stepsWithoutData > STEPS_WITHOUT_DATA_MAX) {
            slotline_count_closed(SLOTLINE_RECORDS);
            errno = ECONNABORTED;
            return -1;
        }
    }
    // What is left without having been enough is a part of a record.
    tls->hasUnread = !tls->isDry && SSL_has_pending(tls->ssl);
    if (taken > 0) return taken;
    if (tls->hasEnded) return 0;
    errno = EAGAIN;
    return -1;
}

int slotline_tls_has_unread(const slotline_tls *tls) { return tls->hasUnread; }

int slotline_tls_is_established(const slotline_tls *tls) { return SSL_is_init_finished(tls->ssl); }

int slotline_tls_write(slotline_tls *tls, const char *data, int length) {
    ERR_clear_error();
    int taken = 0;
    while (taken < std::min(length, WRITE_BYTES) && slotline_tls_flush(tls)) {
        int count = SSL_write(tls->ssl, data + taken, std::min(length - taken, RECORD_BYTES));
        if (count <= 0) break;
        taken += count;
    }
    return taken;
}

int slotline_tls_has_unsent(const slotline_tls *tls) { return !tls->unsent.empty(); }

int slotline_tls_flush(slotline_tls *tls) {
    if (tls->unsent.empty()) return true;
    ssize_t sent = sendNow(tls, tls->unsent.data(), tls->unsent.length());
    // A broken connection is reported by an event.
    if (sent > 0) tls->unsent.erase(0, (size_t) sent);
    if (!tls->unsent.empty()) return false;
    tls->unsent.shrink_to_fit();
    return true;
}

int slotline_tls_end(slotline_tls *tls) {
    ERR_clear_error();
    bool isSent = SSL_get_shutdown(tls->ssl) & SSL_SENT_SHUTDOWN;
    if (SSL_is_init_finished(tls->ssl) && !isSent) SSL_shutdown(tls->ssl);
    return tls->unsent.empty();
}

void slotline_tls_free(slotline_tls *tls) {
    if (tls->unsent.empty()) slotline_tls_end(tls);
    SSL_free(tls->ssl);
    delete tls;
}
