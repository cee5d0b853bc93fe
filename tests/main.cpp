#include <cstdlib>

#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

int main(int argc, char** argv) {
  setenv("TUTTI_CUDA_CHECK", "now", 0);  // tests expect errors where they are made, on a GPU too
  return Catch::Session().run(argc, argv);
}
