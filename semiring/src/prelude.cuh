// The operations of vxm_semiring::lowered in CUDA C++, with the same names and the same results. Compile with --fmad=false.
// Integer arithmetic is done in an unsigned type of at least 32 bits and cast back: so neither integer promotion nor signed
// overflow affects a result. The 16-bit floats are defined only if their headers were included before this text.
#define VXM_FN __device__ __forceinline__

struct vxm_unit {};

namespace vxm {

// The status of an edge: vxm_semiring::Edge.
enum class Edge : unsigned char { Irrelevant, Relevant, Blocking, Final };

template <bool big> struct wide_of { typedef unsigned int type; };
template <> struct wide_of<true> { typedef unsigned long long type; };
template <class T> using wide = typename wide_of<(sizeof(T) > 4)>::type;

template <class T> struct limits {
    static const bool sign = (T)-1 < (T)0;
    static const int bits = 8 * sizeof(T);
    static const int spare = 8 * sizeof(wide<T>) - bits;
};
template <class T> VXM_FN T least() { return limits<T>::sign ? (T)((wide<T>)1 << (limits<T>::bits - 1)) : (T)0; }
template <class T> VXM_FN T greatest() { return (T)(~(wide<T>)0 >> (limits<T>::spare + limits<T>::sign)); }
// plain: the bits of an integer, zero-extended. minus: whether it is negative.
template <class T> VXM_FN wide<T> plain(T a) { return ((wide<T>)a << limits<T>::spare) >> limits<T>::spare; }
template <class T> VXM_FN bool minus(T a) { return limits<T>::sign && plain(a) >> (limits<T>::bits - 1); }

// The value that has these bits.
template <class T> VXM_FN T bits(unsigned long long b);
template <class T> VXM_FN T bits(unsigned long long b, unsigned long long c);
template <> VXM_FN float bits<float>(unsigned long long b) {
    union { unsigned int bits; float value; } u;
    u.bits = (unsigned int)b;
    return u.value;
}
template <> VXM_FN double bits<double>(unsigned long long b) {
    union { unsigned long long bits; double value; } u;
    u.bits = b;
    return u.value;
}

// The bits of a float. All NaNs have the same, as Element::bits says.
VXM_FN unsigned int word(float a) {
    union { float value; unsigned int bits; } u;
    u.value = a;
    return a != a ? 0x7fc00000u : u.bits;
}
VXM_FN unsigned long long word(double a) {
    union { double value; unsigned long long bits; } u;
    u.value = a;
    return a != a ? 0x7ff8000000000000ULL : u.bits;
}

// Tuples, which exist within an operator only.
template <class A, class B> struct Tuple2 { A _0; B _1; };
template <class A, class B, class C> struct Tuple3 { A _0; B _1; C _2; };
template <class A, class B, class C, class D> struct Tuple4 { A _0; B _1; C _2; D _3; };
template <class A, class B> VXM_FN Tuple2<A, B> tuple2(A a, B b) { return {a, b}; }
template <class A, class B, class C> VXM_FN Tuple3<A, B, C> tuple3(A a, B b, C c) { return {a, b, c}; }
template <class A, class B, class C, class D> VXM_FN Tuple4<A, B, C, D> tuple4(A a, B b, C c, D d) { return {a, b, c, d}; }

// Integers.
template <class T> VXM_FN T add(T a, T b) { return (T)((wide<T>)a + (wide<T>)b); }
template <class T> VXM_FN T sub(T a, T b) { return (T)((wide<T>)a - (wide<T>)b); }
template <class T> VXM_FN T mul(T a, T b) { return (T)((wide<T>)a * (wide<T>)b); }
template <class T> VXM_FN T neg(T a) { return (T)((wide<T>)0 - (wide<T>)a); }
template <class T> VXM_FN T div(T a, T b) {
    if (b == (T)0) return (T)0;
    if (limits<T>::sign && b == (T)-1) return neg(a);
    return (T)(a / b);
}
template <class T> VXM_FN T rem(T a, T b) {
    if (b == (T)0) return a;
    if (limits<T>::sign && b == (T)-1) return (T)0;
    return (T)(a % b);
}
template <class T> VXM_FN T abs(T a) { return minus(a) ? neg(a) : a; }
template <class T> VXM_FN T min(T a, T b) { return b < a ? b : a; }
template <class T> VXM_FN T max(T a, T b) { return b > a ? b : a; }
template <class T> VXM_FN T saturating_add(T a, T b) {
    if (!minus(b)) return a > sub(greatest<T>(), b) ? greatest<T>() : add(a, b);
    return a < sub(least<T>(), b) ? least<T>() : add(a, b);
}
template <class T> VXM_FN T saturating_sub(T a, T b) {
    if (!minus(b)) return a < add(least<T>(), b) ? least<T>() : sub(a, b);
    return a > add(greatest<T>(), b) ? greatest<T>() : sub(a, b);
}
template <class T> VXM_FN T saturating_mul(T a, T b) {
    const T product = mul(a, b);
    const bool opposite = limits<T>::sign && minus(a) != minus(b);
    const bool least_negated =
        limits<T>::sign && ((b == (T)-1 && a == least<T>()) || (a == (T)-1 && b == least<T>()));
    if (a == (T)0 || (!least_negated && div(product, a) == b)) return product;
    return opposite ? least<T>() : greatest<T>();
}
template <class T> VXM_FN T signum(T a) { return minus(a) ? (T)-1 : (T)(a != (T)0); }
template <class T> struct unsigned_of { typedef T type; };
template <> struct unsigned_of<signed char> { typedef unsigned char type; };
template <> struct unsigned_of<short> { typedef unsigned short type; };
template <> struct unsigned_of<int> { typedef unsigned int type; };
template <> struct unsigned_of<long long> { typedef unsigned long long type; };
template <class T> VXM_FN typename unsigned_of<T>::type abs_diff(T a, T b) {
    return (typename unsigned_of<T>::type)(a > b ? (wide<T>)a - (wide<T>)b : (wide<T>)b - (wide<T>)a);
}
template <class T> VXM_FN T pow(T a, unsigned int n) {
    T r = (T)1;
    for (; n > 0; n >>= 1, a = mul(a, a))
        if (n & 1) r = mul(r, a);
    return r;
}
template <class T> VXM_FN T bitand_(T a, T b) { return (T)((wide<T>)a & (wide<T>)b); }
template <class T> VXM_FN T bitor_(T a, T b) { return (T)((wide<T>)a | (wide<T>)b); }
template <class T> VXM_FN T bitxor_(T a, T b) { return (T)((wide<T>)a ^ (wide<T>)b); }
template <class T> VXM_FN T not_(T a) { return (T)~(wide<T>)a; }
VXM_FN bool not_(bool a) { return !a; }
template <class T> VXM_FN T bitxnor(T a, T b) { return not_(bitxor_(a, b)); }
template <class T, class U> VXM_FN T shl(T a, U by) {
    return (T)((wide<T>)a << ((unsigned int)by & (limits<T>::bits - 1)));
}
template <class T, class U> VXM_FN T shr(T a, U by) { return (T)(a >> ((unsigned int)by & (limits<T>::bits - 1))); }
template <class T> VXM_FN T rotate_left(T a, unsigned int by) {
    wide<T> u = plain(a);
    by &= limits<T>::bits - 1;
    return by ? (T)(u << by | u >> (limits<T>::bits - by)) : a;
}
template <class T> VXM_FN T rotate_right(T a, unsigned int by) { return rotate_left(a, limits<T>::bits - by); }

#ifdef __CUDA_ARCH__
VXM_FN int popc(unsigned int u) { return __popc(u); }
VXM_FN int popc(unsigned long long u) { return __popcll(u); }
VXM_FN int clz(unsigned int u) { return __clz((int)u); }
VXM_FN int clz(unsigned long long u) { return __clzll((long long)u); }
VXM_FN int ffs(unsigned int u) { return __ffs((int)u); }
VXM_FN int ffs(unsigned long long u) { return __ffsll((long long)u); }
#else
VXM_FN int popc(unsigned int u) { return __builtin_popcount(u); }
VXM_FN int popc(unsigned long long u) { return __builtin_popcountll(u); }
VXM_FN int clz(unsigned int u) { return u ? __builtin_clz(u) : 32; }
VXM_FN int clz(unsigned long long u) { return u ? __builtin_clzll(u) : 64; }
VXM_FN int ffs(unsigned int u) { return __builtin_ffs((int)u); }
VXM_FN int ffs(unsigned long long u) { return __builtin_ffsll((long long)u); }
#endif
template <class T> VXM_FN unsigned int count_ones(T a) { return (unsigned int)popc(plain(a)); }
template <class T> VXM_FN unsigned int count_zeros(T a) { return limits<T>::bits - count_ones(a); }
template <class T> VXM_FN unsigned int leading_zeros(T a) { return (unsigned int)(clz(plain(a)) - limits<T>::spare); }
template <class T> VXM_FN unsigned int leading_ones(T a) { return leading_zeros(not_(a)); }
template <class T> VXM_FN unsigned int trailing_zeros(T a) {
    int at = ffs(plain(a));
    return (unsigned int)(at ? at - 1 : limits<T>::bits);
}
template <class T> VXM_FN unsigned int trailing_ones(T a) { return trailing_zeros(not_(a)); }
template <class T> VXM_FN T reverse_bits(T a) {
    wide<T> from = plain(a), to = 0;
    for (int bit = 0; bit < limits<T>::bits; bit++, from >>= 1) to = to << 1 | (from & 1);
    return (T)to;
}

// Comparisons, for every type. Overloads for the 16-bit floats are below.
template <class T> VXM_FN bool eq(T a, T b) { return a == b; }
template <class T> VXM_FN bool ne(T a, T b) { return a != b; }
template <class T> VXM_FN bool lt(T a, T b) { return a < b; }
template <class T> VXM_FN bool le(T a, T b) { return a <= b; }
template <class T> VXM_FN bool gt(T a, T b) { return a > b; }
template <class T> VXM_FN bool ge(T a, T b) { return a >= b; }

// Floats. min and max prefer a number to NaN, and order -0 below +0. minus: whether the sign bit is set.
VXM_FN bool minus(float a) {
    union { float value; unsigned int bits; } u;
    u.value = a;
    return u.bits >> 31;
}
VXM_FN bool minus(double a) {
    union { double value; unsigned long long bits; } u;
    u.value = a;
    return u.bits >> 63;
}
#define VXM_FLOAT(T, call)                                                                                             \
    VXM_FN T add(T a, T b) { return a + b; }                                                                           \
    VXM_FN T sub(T a, T b) { return a - b; }                                                                           \
    VXM_FN T mul(T a, T b) { return a * b; }                                                                           \
    VXM_FN T div(T a, T b) { return a / b; }                                                                           \
    VXM_FN T rem(T a, T b) { return ::call(fmod)(a, b); }                                                              \
    VXM_FN T neg(T a) { return -a; }                                                                                   \
    VXM_FN T abs(T a) { return ::call(fabs)(a); }                                                                      \
    VXM_FN T sqrt(T a) { return ::call(sqrt)(a); }                                                                     \
    VXM_FN T floor(T a) { return ::call(floor)(a); }                                                                   \
    VXM_FN T ceil(T a) { return ::call(ceil)(a); }                                                                     \
    VXM_FN T trunc(T a) { return ::call(trunc)(a); }                                                                   \
    VXM_FN T round(T a) { return ::call(round)(a); }                                                                   \
    VXM_FN T copysign(T a, T b) { return b != b ? abs(a) : ::call(copysign)(a, b); }                                   \
    VXM_FN T signum(T a) { return a != a ? a : ::call(copysign)((T)1, a); }                                            \
    VXM_FN T mul_add(T a, T b, T c) { return ::call(fma)(a, b, c); }                                                   \
    VXM_FN bool is_nan(T a) { return a != a; }                                                                         \
    VXM_FN bool is_finite(T a) { return a - a == (T)0; }                                                               \
    VXM_FN bool is_infinite(T a) { return a == a && a - a != (T)0; }
#ifdef __CUDA_ARCH__
// PTX min and max are defined exactly so: a number rather than NaN, -0 below +0
VXM_FN float min(float a, float b) { float r; asm("min.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
VXM_FN float max(float a, float b) { float r; asm("max.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(b)); return r; }
VXM_FN double min(double a, double b) { double r; asm("min.f64 %0, %1, %2;" : "=d"(r) : "d"(a), "d"(b)); return r; }
VXM_FN double max(double a, double b) { double r; asm("max.f64 %0, %1, %2;" : "=d"(r) : "d"(a), "d"(b)); return r; }
#else
#define VXM_EXTREMUM(T)                                                                                                \
    VXM_FN T min(T a, T b) { return a < b || b != b || (a == b && (a != (T)0 || minus(a))) ? a : b; }                  \
    VXM_FN T max(T a, T b) { return a > b || b != b || (a == b && (a != (T)0 || !minus(a))) ? a : b; }
VXM_EXTREMUM(float)
VXM_EXTREMUM(double)
#endif
#define VXM_SINGLE(name) name##f
#define VXM_DOUBLE(name) name
VXM_FLOAT(float, VXM_SINGLE)
VXM_FLOAT(double, VXM_DOUBLE)

// The 16-bit floats compute in float and round back. For these operations the result is the same as of rounding once.
template <class T> VXM_FN T widen(T a) { return a; }
#define VXM_HALF(T, up, down)                                                                                          \
    VXM_FN float widen(T a) { return up(a); }                                                                          \
    VXM_FN T add(T a, T b) { return down(up(a) + up(b)); }                                                             \
    VXM_FN T sub(T a, T b) { return down(up(a) - up(b)); }                                                             \
    VXM_FN T mul(T a, T b) { return down(up(a) * up(b)); }                                                             \
    VXM_FN T div(T a, T b) { return down(up(a) / up(b)); }                                                             \
    VXM_FN T rem(T a, T b) { return down(rem(up(a), up(b))); }                                                         \
    VXM_FN T neg(T a) { return down(-up(a)); }                                                                         \
    VXM_FN T abs(T a) { return down(abs(up(a))); }                                                                     \
    VXM_FN T min(T a, T b) { return down(min(up(a), up(b))); }                                                         \
    VXM_FN T max(T a, T b) { return down(max(up(a), up(b))); }                                                         \
    VXM_FN T sqrt(T a) { return down(sqrt(up(a))); }                                                                   \
    VXM_FN T floor(T a) { return down(floor(up(a))); }                                                                 \
    VXM_FN T ceil(T a) { return down(ceil(up(a))); }                                                                   \
    VXM_FN T trunc(T a) { return down(trunc(up(a))); }                                                                 \
    VXM_FN T round(T a) { return down(round(up(a))); }                                                                 \
    VXM_FN T copysign(T a, T b) { return down(copysign(up(a), up(b))); }                                               \
    VXM_FN T signum(T a) { return down(signum(up(a))); }                                                               \
    VXM_FN T mul_add(T a, T b, T c) { return down(mul_add(up(a), up(b), up(c))); }                                     \
    VXM_FN bool is_nan(T a) { return is_nan(up(a)); }                                                                  \
    VXM_FN bool is_finite(T a) { return is_finite(up(a)); }                                                            \
    VXM_FN bool is_infinite(T a) { return is_infinite(up(a)); }                                                        \
    VXM_FN bool eq(T a, T b) { return up(a) == up(b); }                                                                \
    VXM_FN bool ne(T a, T b) { return up(a) != up(b); }                                                                \
    VXM_FN bool lt(T a, T b) { return up(a) < up(b); }                                                                 \
    VXM_FN bool le(T a, T b) { return up(a) <= up(b); }                                                                \
    VXM_FN bool gt(T a, T b) { return up(a) > up(b); }                                                                 \
    VXM_FN bool ge(T a, T b) { return up(a) >= up(b); }
#ifdef __CUDA_FP16_TYPES_EXIST__
template <> VXM_FN __half bits<__half>(unsigned long long b) {
    __half_raw raw;
    raw.x = (unsigned short)b;
    return __half(raw);
}
VXM_HALF(__half, __half2float, __float2half_rn)
VXM_FN unsigned int word(__half a) { return is_nan(a) ? 0x7e00u : ((__half_raw)a).x; }
#endif
#ifdef __CUDA_BF16_TYPES_EXIST__
template <> VXM_FN __nv_bfloat16 bits<__nv_bfloat16>(unsigned long long b) {
    __nv_bfloat16_raw raw;
    raw.x = (unsigned short)b;
    return __nv_bfloat16(raw);
}
VXM_HALF(__nv_bfloat16, __bfloat162float, __float2bfloat16_rn)
VXM_FN unsigned int word(__nv_bfloat16 a) { return is_nan(a) ? 0x7fc0u : ((__nv_bfloat16_raw)a).x; }
#endif

// Casts: integers wrap; floats to integers saturate, and NaN becomes 0; casts to 16-bit floats go through float.
template <class T> struct is_float { static const bool value = false; };
template <> struct is_float<float> { static const bool value = true; };
template <> struct is_float<double> { static const bool value = true; };
template <class T, class From, bool saturating> struct convert {
    static VXM_FN T from(From a) { return (T)a; }
};
template <class T, class From> struct convert<T, From, true> {
    static VXM_FN T from(From a) {
        // one above the greatest value: a power of two, so exact in float and double, as greatest<T>() may not be
        const From above = (From)((wide<T>)1 << (limits<T>::bits - 1)) * (limits<T>::sign ? (From)1 : (From)2);
        const From below = limits<T>::sign ? -above : (From)0;
        return a != a ? (T)0 : a <= below ? least<T>() : a >= above ? greatest<T>() : (T)a;
    }
};
template <class T> struct narrow {
    template <class From> static VXM_FN T from(From a) {
        return convert<T, From, is_float<From>::value && !is_float<T>::value>::from(a);
    }
};
#ifdef __CUDA_FP16_TYPES_EXIST__
template <> struct narrow<__half> {
    template <class From> static VXM_FN __half from(From a) { return __float2half_rn((float)a); }
};
#endif
#ifdef __CUDA_BF16_TYPES_EXIST__
template <> struct narrow<__nv_bfloat16> {
    template <class From> static VXM_FN __nv_bfloat16 from(From a) { return __float2bfloat16_rn((float)a); }
};
#endif
template <class T, class From> VXM_FN T cast(From a) { return narrow<T>::from(widen(a)); }

template <class T> VXM_FN T clamp(T a, T least, T most) { return min(max(a, least), most); }

// The bits of a float, and the float of such bits.
VXM_FN unsigned int to_bits(float a) { return word(a); }
VXM_FN unsigned long long to_bits(double a) { return word(a); }
template <class T, class Word> VXM_FN T from_bits(Word word) { return bits<T>(word); }

// A literal of the type of an expression.
template <class T> struct value_of { typedef T type; };
template <class T> struct value_of<T&> { typedef typename value_of<T>::type type; };
template <class T> struct value_of<const T> { typedef T type; };
template <class T> VXM_FN typename value_of<T>::type like(unsigned long long x) { return (typename value_of<T>::type)x; }
template <class T> VXM_FN typename value_of<T>::type like(long long x) { return (typename value_of<T>::type)x; }
template <class T> VXM_FN typename value_of<T>::type like(float narrow, double wide) {
    return sizeof(T) > 4 ? (typename value_of<T>::type)wide : (typename value_of<T>::type)narrow;
}

// The constants of a scalar type.
template <class T> VXM_FN T zero() { return cast<T>(0); }
template <class T> VXM_FN T one() { return cast<T>(1); }
template <> VXM_FN float least<float>() { return bits<float>(0xff800000); }
template <> VXM_FN float greatest<float>() { return bits<float>(0x7f800000); }
template <> VXM_FN double least<double>() { return bits<double>(0xfff0000000000000ULL); }
template <> VXM_FN double greatest<double>() { return bits<double>(0x7ff0000000000000ULL); }
#ifdef __CUDA_FP16_TYPES_EXIST__
VXM_FN unsigned short to_bits(__half a) { return (unsigned short)word(a); }
template <> VXM_FN __half least<__half>() { return bits<__half>(0xfc00); }
template <> VXM_FN __half greatest<__half>() { return bits<__half>(0x7c00); }
#endif
#ifdef __CUDA_BF16_TYPES_EXIST__
VXM_FN unsigned short to_bits(__nv_bfloat16 a) { return (unsigned short)word(a); }
template <> VXM_FN __nv_bfloat16 least<__nv_bfloat16>() { return bits<__nv_bfloat16>(0xff80); }
template <> VXM_FN __nv_bfloat16 greatest<__nv_bfloat16>() { return bits<__nv_bfloat16>(0x7f80); }
#endif

// Functions of the built-in operators. A vxm_unit is the entry of a pattern, and stands for one.
template <class A> VXM_FN A one(A) { return cast<A>(1); }
template <class A> VXM_FN A add(A a, vxm_unit) { return add(a, one(a)); }
template <class A> VXM_FN A mul(A a, vxm_unit) { return a; }
template <class A> VXM_FN A rsub(A a, A b) { return sub(b, a); }
template <class A> VXM_FN A rdiv(A a, A b) { return div(b, a); }
template <class A> VXM_FN A inv(A a) { return div(one(a), a); }
template <class A> VXM_FN A identity(A a) { return a; }
template <class A, class B> VXM_FN A first(A a, B) { return a; }
template <class A, class B> VXM_FN B second(A, B b) { return b; }
VXM_FN bool lor(bool a, bool b) { return a || b; }
VXM_FN bool land(bool a, bool b) { return a && b; }
VXM_FN bool land(bool a, vxm_unit) { return a; }
VXM_FN bool land(vxm_unit, bool b) { return b; }
VXM_FN bool land(vxm_unit, vxm_unit) { return true; }
template <class A> VXM_FN unsigned int row(unsigned int i, unsigned int, A) { return i; }
template <class A> VXM_FN unsigned int column(unsigned int, unsigned int j, A) { return j; }
VXM_FN long long diagonal(unsigned int i, unsigned int j) { return (long long)j - (long long)i; }

} // namespace vxm
