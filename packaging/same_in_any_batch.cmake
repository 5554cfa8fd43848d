# Lets llama.cpp's quick kernels for x86 (ggml/src/ggml-cpu/llamafile/sgemm.cpp) compute single tokens too.
# As it comes, they compute two tokens and more, and add up in another order than what computes one: the
# bits of a token's logits, and so the reply, would depend on how its tokens were cut into batches, and on
# whether they were drafted. Single tokens get a way of their own through them: the order of each sum is the
# same, but every thread takes its part of the rows without the barriers at the beginning and the end, which
# would take longer than the sums (a token takes 8 to 12 % less time than without this file).
# Included after project(ggml); changes the copy of the sources that is being compiled.
set(_sgemm "${CMAKE_CURRENT_SOURCE_DIR}/src/ggml-cpu/llamafile/sgemm.cpp")
file(READ "${_sgemm}" _source)

function(weir_replace old new)
    string(FIND "${_source}" "${new}" _done)
    if(_done GREATER -1)
        return() # configured a second time
    endif()
    string(FIND "${_source}" "${old}" _first)
    string(FIND "${_source}" "${old}" _last REVERSE)
    if(_first EQUAL -1 OR NOT _first EQUAL _last)
        message(FATAL_ERROR "packaging/same_in_any_batch.cmake does not fit this version of llama.cpp.")
    endif()
    string(REPLACE "${old}" "${new}" _source "${_source}")
    set(_source "${_source}" PARENT_SCOPE)
endfunction()

weir_replace([[
#if !defined(__MMA__)
    if (n < 2)
]] [[
#if !defined(__MMA__) && !defined(__AVX__)
    if (n < 2)
]])

weir_replace([[
        if (k % KN != 0)
            return false;
        // compute RM for only need tile with size RM&RM-1
]] [[
        if (k % KN != 0)
            return false;
        if (n == 1 && m % 4 == 0) {
            const int64_t n_tiles = m / 4;
            const int64_t end = n_tiles * (params->ith + 1) / params->nth;
            for (int64_t tile = n_tiles * params->ith / params->nth; tile < end; ++tile)
                gemm_bloc<4, 1>(tile * 4, 0);
            return true;
        }
        // compute RM for only need tile with size RM&RM-1
]])

file(WRITE "${_sgemm}" "${_source}")
