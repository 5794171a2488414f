// Values and calls of Node-API, as far as the server needs them.
#pragma once

#include <node_api.h>

#include <cstring>
#include <string>
#include <string_view>

namespace slotline {

/** Keeps the values of one native function or one callback alive, and releases them. */
class Scope {
public:
    explicit Scope(napi_env env) : env(env) { napi_open_handle_scope(env, &scope); }
    ~Scope() { napi_close_handle_scope(env, scope); }
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

private:
    napi_env env;
    napi_handle_scope scope = nullptr;
};

inline napi_value fail(napi_env env, const char *message) {
    napi_throw_error(env, nullptr, message);
    return nullptr;
}

inline napi_value toBoolean(napi_env env, bool value) {
    napi_value result = nullptr;
    napi_get_boolean(env, value, &result);
    return result;
}

inline napi_value toNumber(napi_env env, double value) {
    napi_value result = nullptr;
    napi_create_double(env, value, &result);
    return result;
}

inline napi_value toText(napi_env env, std::string_view text) {
    napi_value result = nullptr;
    napi_create_string_utf8(env, text.data() == nullptr ? "" : text.data(), text.length(), &result);
    return result;
}

/** A copy: JavaScript may keep it after the callback. */
inline napi_value toArrayBuffer(napi_env env, std::string_view bytes) {
    napi_value result = nullptr;
    void *data = nullptr;
    if (napi_create_arraybuffer(env, bytes.length(), &data, &result) != napi_ok) return nullptr;
    if (bytes.length() > 0) memcpy(data, bytes.data(), bytes.length());
    return result;
}

/** The arguments of a native function. Missing ones are `undefined`. */
template <size_t Count> struct Arguments {
    napi_env env;
    napi_value values[Count];

    Arguments(napi_env env, napi_callback_info info) : env(env) {
        size_t count = Count;
        napi_get_cb_info(env, info, &count, values, nullptr, nullptr);
    }

    /** -1, which is no valid number here, where the argument is not a number. */
    double number(size_t index) const {
        double value = 0;
        return napi_get_value_double(env, values[index], &value) == napi_ok ? value : -1;
    }

    /** False where the argument is not a boolean. */
    bool boolean(size_t index) const {
        bool value = false;
        napi_get_value_bool(env, values[index], &value);
        return value;
    }

    bool isUndefined(size_t index) const {
        napi_valuetype type = napi_undefined;
        napi_typeof(env, values[index], &type);
        return type == napi_undefined;
    }
};

/** The bytes of a string, a `Uint8Array` or an `ArrayBuffer`, valid during one native function. */
class Bytes {
public:
    /** False where the value is none of these. */
    bool read(napi_env env, napi_value value) {
        napi_valuetype type;
        if (napi_typeof(env, value, &type) != napi_ok) return false;
        if (type == napi_string) return readText(env, value);
        void *data = nullptr;
        size_t length = 0;
        bool is = false;
        if (napi_is_typedarray(env, value, &is) == napi_ok && is) {
            napi_typedarray_type kind;
            napi_get_typedarray_info(env, value, &kind, &length, &data, nullptr, nullptr);
            if (kind != napi_uint8_array) return false;
        } else if (napi_is_arraybuffer(env, value, &is) == napi_ok && is) {
            napi_get_arraybuffer_info(env, value, &data, &length);
        } else {
            return false;
        }
        if (data == nullptr) bytes = "";
        else bytes = {static_cast<const char *>(data), length};
        return true;
    }

    std::string_view view() const { return bytes; }

private:
    bool readText(napi_env env, napi_value value) {
        size_t length = 0;
        // Most strings are short header lines: one call reads them.
        if (napi_get_value_string_utf8(env, value, small, sizeof(small), &length) != napi_ok)
            return false;
        // A character of up to four bytes may not have fitted.
        if (length + 4 < sizeof(small)) {
            bytes = {small, length};
            return true;
        }
        napi_get_value_string_utf8(env, value, nullptr, 0, &length);
        large.resize(length + 1);
        napi_get_value_string_utf8(env, value, large.data(), large.size(), &length);
        bytes = {large.data(), length};
        return true;
    }

    char small[512];
    std::string large;
    std::string_view bytes;
};

/** A JavaScript function that is kept for the life of the environment. */
class Callback {
public:
    Callback() = default;
    Callback(napi_env env, napi_value function) : env(env) {
        napi_create_reference(env, function, 1, &reference);
    }

    /**
     * Calls the function from the event loop, or from within another native function. Returns
     * nullptr where it threw: that is an uncaught exception of the process.
     */
    template <size_t Count> napi_value call(const napi_value (&values)[Count]) const {
        napi_value function = nullptr, receiver = nullptr, result = nullptr;
        napi_get_reference_value(env, reference, &function);
        napi_get_global(env, &receiver);
        if (napi_make_callback(env, nullptr, receiver, function, Count, values, &result) == napi_ok)
            return result;
        bool isPending = false;
        napi_is_exception_pending(env, &isPending);
        if (isPending) {
            napi_value error = nullptr;
            napi_get_and_clear_last_exception(env, &error);
            napi_fatal_exception(env, error);
        }
        return nullptr;
    }

private:
    napi_env env = nullptr;
    napi_ref reference = nullptr;
};

/** Copies the function of a JavaScript object; `undefined` is kept as it is. */
inline Callback callbackOf(napi_env env, napi_value object, const char *name) {
    napi_value function = nullptr;
    napi_get_named_property(env, object, name, &function);
    return {env, function};
}

inline double numberOf(napi_env env, napi_value object, const char *name) {
    napi_value value = nullptr;
    double number = 0;
    napi_get_named_property(env, object, name, &value);
    napi_get_value_double(env, value, &number);
    return number;
}

} // namespace slotline
