// The data pages of Parquet column chunks, decoded on the device:
//
//   find_pages         parses the pages' headers, a thread per chunk
//   decompress_pages   a warp per page
//   write_values       writes values to their column, whole, wherever their bytes stood
//
// Understood are pages of version 1 in columns without nulls: PLAIN or BYTE_STREAM_SPLIT values of
// 4 or 8 bytes, uncompressed or as one LZ4 block. All else is an error, and so are bytes that make
// no sense: nothing is read or written beyond a chunk, its scratch memory and its column. (Words
// may be read up to 3 bytes beyond a chunk.)
//
// Sources: Apache Parquet's parquet.thrift and Encodings.md, Thrift's compact protocol, LZ4's block
// format. A warp decodes an LZ4 block from its start to its end, one sequence of literals and a
// match after another, and its lanes copy the bytes of each.
//
// Cost per byte of a column: 1 / ratio read, 1 written and read (1 to 2 more within the first-level
// cache), 1 written; per sequence some 400 cycles of a warp.

using u8 = unsigned char;
using u32 = unsigned;
using u64 = unsigned long long;

constexpr u32 all_lanes = 0xFFFFFFFF;
constexpr u32 max_page_bytes = 1 << 30;
constexpr u32 few_bytes = 256;  // up to which bytes are copied one by one
constexpr int max_depth = 4;    // of structs in a page's header
constexpr u32 tiles = 16;       // into which blocks divide a page's values

// A column chunk, as the host describes it.
struct chunk {
  const u8* data;
  u64 bytes;
  u8* scratch;  // for its pages when they are decompressed, if they are compressed
  u64 scratch_bytes;
  u8* column;  // where its first value belongs
  long long values;
  int width;  // bytes per value
  int is_compressed;
};

struct page {
  const u8* data;
  u8* scratch;
  u8* column;
  u32 bytes, values;
  int width;
  bool is_compressed, is_split;
};

enum count { page_count, error_count, next_page, counts };

// ---- Headers

struct byte_reader {
  const u8 *at, *end;
  bool failed;

  __device__ u8 byte() {
    if (at < end) return *at++;
    failed = true;
    return 0;
  }
  __device__ u64 variable() {
    u64 value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const u8 next = byte();
      value |= u64(next & 127) << shift;
      if (next < 128) return value;
    }
    failed = true;
    return 0;
  }
  __device__ long long number() {
    const u64 value = variable();
    return (long long)(value >> 1) ^ -(long long)(value & 1);
  }
  __device__ void skip(u64 bytes) {
    failed = failed || bytes > u64(end - at);
    if (!failed) at += bytes;
  }
};

struct page_header {
  long long type, uncompressed_bytes, bytes, values, encoding;
};

enum thrift_type { is_true = 1, is_false, is_byte, is_i16, is_i32, is_i64, is_double, is_binary };
constexpr int is_struct = 12;
constexpr int data_page = 0, data_page_header = 5, plain = 0, byte_stream_split = 9;

__device__ page_header read_header(byte_reader& in) {
  page_header header{-1, -1, -1, -1, -1};
  int fields[max_depth] = {0}, depth = 0;  // the last field of each struct that is open
  while (!in.failed) {
    const u8 first = in.byte();
    if (first == 0) {  // a struct ends
      if (depth-- == 0) return header;
      continue;
    }
    const int type = first & 15, step = first >> 4;
    const int field = step ? fields[depth] + step : int(in.number());
    fields[depth] = field;
    if (type == is_struct && depth + 1 < max_depth) {
      fields[++depth] = 0;
    } else if (type == is_byte) {
      in.byte();
    } else if (type == is_double) {
      in.skip(8);
    } else if (type == is_binary) {
      in.skip(in.variable());
    } else if (type == is_i16 || type == is_i32 || type == is_i64) {
      const long long value = in.number();
      if (depth == 0 && field == 1) header.type = value;
      if (depth == 0 && field == 2) header.uncompressed_bytes = value;
      if (depth == 0 && field == 3) header.bytes = value;
      if (depth == 1 && fields[0] == data_page_header && field == 1) header.values = value;
      if (depth == 1 && fields[0] == data_page_header && field == 2) header.encoding = value;
    } else if (type != is_true && type != is_false) {
      in.failed = true;  // no header has lists or maps
    }
  }
  return header;
}

// List the pages of one chunk; false if there is one that is not understood.
__device__ bool list_pages(const chunk& from, page* pages, u32 capacity, u32* counts) {
  byte_reader in{from.data, from.data + from.bytes, false};
  u8 *scratch = from.scratch, *column = from.column;
  for (long long left = from.values; left > 0;) {
    const page_header header = read_header(in);
    const long long bytes = header.values * from.width;
    const bool is_understood =
        !in.failed && header.type == data_page && header.values > 0 && header.values <= left &&
        bytes <= max_page_bytes && header.uncompressed_bytes == bytes && header.bytes > 0 &&
        header.bytes <= in.end - in.at && (from.is_compressed || header.bytes == bytes) &&
        (header.encoding == plain || header.encoding == byte_stream_split) &&
        (!from.is_compressed || scratch + bytes <= from.scratch + from.scratch_bytes);
    if (!is_understood) return false;
    const u32 place = atomicAdd(&counts[page_count], 1u);
    if (place >= capacity) return false;
    pages[place] = {in.at,
                    scratch,
                    column,
                    u32(header.bytes),
                    u32(header.values),
                    from.width,
                    from.is_compressed != 0,
                    header.encoding == byte_stream_split};
    in.skip(header.bytes);
    if (from.is_compressed) scratch += bytes;
    column += bytes;
    left -= header.values;
  }
  return true;
}

extern "C" __global__ void find_pages(const chunk* chunks, int chunk_count, page* pages,
                                      u32 capacity, u32* counts) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < chunk_count && !list_pages(chunks[i], pages, capacity, counts)) {
    atomicAdd(&counts[error_count], 1u);
  }
}

// ---- LZ4

// Copy bytes between ranges that do not overlap. By a warp.
__device__ void copy_bytes(u8* to, const u8* from, u64 bytes, u32 lane) {
  if (bytes <= few_bytes) {
    for (u32 i = lane; i < bytes; i += 32) to[i] = from[i];
    return;
  }
  const u32 head = u32(-(u64)to & 3);  // bytes before a multiple of 4
  if (lane < head) to[lane] = from[lane];
  to += head;
  from += head;
  bytes -= head;
  const u32 shift = 8 * u32((u64)from & 3);
  const u32* const words = (const u32*)(from - shift / 8);
  u32* const to_words = (u32*)to;
#pragma unroll 4
  for (u64 i = lane; i < bytes / 4; i += 32) {
    to_words[i] = shift ? words[i] >> shift | words[i + 1] << (32 - shift) : words[i];
  }
  const u64 copied = bytes / 4 * 4;
  if (lane < bytes - copied) to[copied + lane] = from[copied + lane];
}

// Repeat the `offset` bytes before `to` until there are so many more. By a warp.
__device__ void repeat_bytes(u8* to, u64 offset, u64 bytes, u32 lane) {
  const u8* const from = to - offset;
  if (offset >= bytes) {
    copy_bytes(to, from, bytes, lane);
  } else if (bytes <= few_bytes) {
    for (u32 i = lane; i < bytes; i += 32) to[i] = from[i % u32(offset)];
  } else {  // what is there doubles each time
    while (bytes > 0) {
      const u64 size = u64(to - from) < bytes ? u64(to - from) : bytes;
      copy_bytes(to, from, size, lane);
      to += size;
      bytes -= size;
      __syncwarp();
    }
  }
}

// The 32 bytes at a place, one per lane, and 0 from the end on.
__device__ u32 fetch(const u8* at, const u8* end, u32 lane) {
  return at + lane < end ? at[lane] : 0;
}

// The sum of bytes up to the first that is not 255, which is added to lengths that fill their bits.
__device__ u64 read_length(const u8*& in, const u8* end, u32 lane) {
  for (u64 sum = 0;; sum += 32 * 255, in += 32) {
    const u32 byte = fetch(in, end, lane);
    const u32 last = __ballot_sync(all_lanes, byte != 255);
    if (!last) continue;
    const u32 first = __ffs(last) - 1;
    in += first + 1;
    return sum + 255 * first + __shfl_sync(all_lanes, byte, first);
  }
}

// Decompress a block, which must have as many bytes as there is room. By a warp; false if it makes
// no sense.
__device__ bool decompress(const u8* in, const u8* const end, u8* const begin, u8* const out_end,
                           u32 lane) {
  u8* out = begin;
  u32 window = fetch(in, end, lane);  // the bytes at `in`, less `at`
  while (in < end) {
    const u32 token = __shfl_sync(all_lanes, window, 0);
    u64 literals = token >> 4;
    u32 at = 0;
    ++in;
    if (literals == 15) literals += read_length(in, end, lane);
    if (in > end || literals > u64(end - in) || literals > u64(out_end - out)) return false;
    if (literals < 15) {
      at = 1 + u32(literals);
      if (lane >= 1 && lane < at) out[lane - 1] = u8(window);
    } else {
      copy_bytes(out, in, literals, lane);
    }
    in += literals;
    out += literals;
    if (in == end) return out == out_end;  // a block ends with literals
    if (at == 0) window = fetch(in, end, lane);
    const u32 offset = __shfl_sync(all_lanes, window, at) | __shfl_sync(all_lanes, window, at + 1)
                                                                << 8;
    in += 2;
    u64 match = (token & 15) + 4;
    if (match == 19) match += read_length(in, end, lane);
    const bool is_valid = in <= end && offset > 0 && offset <= u64(out - begin);
    if (!is_valid || match > u64(out_end - out)) return false;
    window = fetch(in, end, lane);  // meanwhile
    __syncwarp();
    repeat_bytes(out, offset, match, lane);
    out += match;
  }
  return false;
}

extern "C" __global__ void decompress_pages(const page* pages, u32* counts) {
  const u32 lane = threadIdx.x % 32;
  // Another warp may count an error meanwhile, but all lanes of this one act on one answer.
  if (__shfl_sync(all_lanes, counts[error_count], 0)) return;
  for (;;) {
    u32 next = 0;
    if (lane == 0) next = atomicAdd(&counts[next_page], 1u);
    next = __shfl_sync(all_lanes, next, 0);
    if (next >= counts[page_count]) return;
    const page& one = pages[next];
    if (!one.is_compressed) continue;
    u8* const end = one.scratch + u64(one.values) * one.width;
    const bool is_valid = decompress(one.data, one.data + one.bytes, one.scratch, end, lane);
    if (!is_valid && lane == 0) atomicAdd(&counts[error_count], 1u);
    __syncwarp();
  }
}

// ---- Values

// Write the values of one tile of a page.
template <class word_t> __device__ void write_words(const page& from, u32 tile) {
  const u8* const bytes = from.is_compressed ? from.scratch : from.data;
  word_t* const column = (word_t*)from.column;
  for (u32 i = tile * blockDim.x + threadIdx.x; i < from.values; i += tiles * blockDim.x) {
    word_t word = 0;
#pragma unroll
    for (u32 b = 0; b < sizeof(word_t); ++b) {
      const u64 at = from.is_split ? u64(b) * from.values + i : u64(i) * sizeof(word_t) + b;
      word |= word_t(bytes[at]) << (8 * b);
    }
    column[i] = word;
  }
}

extern "C" __global__ void write_values(const page* pages, const u32* counts) {
  if (counts[error_count]) return;
  for (u32 i = blockIdx.x; i < counts[page_count] * tiles; i += gridDim.x) {
    const page& from = pages[i / tiles];
    if (from.width == 4) {
      write_words<u32>(from, i % tiles);
    } else {
      write_words<u64>(from, i % tiles);
    }
  }
}
