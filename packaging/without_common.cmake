# Leaves llama.cpp's `common` library out of the build: its programs need it, llama-cpp-python does
# not, and it is a third of the files to compile. llama-cpp-python's CMakeLists.txt sets the cache
# entry of this name to ON; a plain variable, set here after project(), wins over it (CMP0126).
set(LLAMA_BUILD_COMMON OFF)
